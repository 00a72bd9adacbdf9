/**
 * The dialects by their names in the config.
 */

import type { DialectName } from '@gateway/contracts/vendors'
import { anthropic } from './anthropic.ts'
import type { Dialect } from './dialect.ts'
import { openai } from './openai.ts'

const dialects: Record<DialectName, Dialect> = { openai, anthropic }

export function dialectOf(name: DialectName): Dialect {
  return dialects[name]
}
