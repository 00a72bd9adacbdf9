/**
 * The dialects by their names in the config.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import { anthropic } from './anthropic.ts'
import type { Dialect } from './dialect.ts'
import { openai } from './openai.ts'

const dialects: Record<BackendConfig['dialect'], Dialect> = { openai, anthropic }

export function dialectOf(name: BackendConfig['dialect']): Dialect {
  return dialects[name]
}
