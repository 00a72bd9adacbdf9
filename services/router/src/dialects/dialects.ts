/**
 * The dialects by their names in the config.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import type { Dialect } from './dialect.ts'
import { openai } from './openai.ts'

const dialects: Partial<Record<BackendConfig['dialect'], Dialect>> = { openai }

export function dialectOf(name: BackendConfig['dialect']): Dialect {
  const dialect = dialects[name]
  if (!dialect) throw new Error(`no such dialect: ${name}`)
  return dialect
}
