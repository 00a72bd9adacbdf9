/**
 * Reads a config file as the services would, before any of them does. It names errors, missing secrets, and valid parts
 * that are probably mistakes.
 */

import { findOversights } from '@gateway/contracts/find-oversights'
import type { GatewayConfig } from '@gateway/contracts/config'
import { ConfigError, writePath, type LocatedProblem } from './config-error.ts'
import { loadConfig, type LoadedConfig } from './load-config.ts'
import { unusableSecrets } from './resolve-secrets.ts'

export interface ConfigReview {
  /** Null where the file cannot be read as a configuration at all. */
  config: GatewayConfig | null
  problems: LocatedProblem[]
  warnings: LocatedProblem[]
  notices: string[]
}

/** `environment`: the router's. Null: its secrets are not to be looked for here. */
export function reviewConfig(text: string, source: string, environment: NodeJS.ProcessEnv | null): ConfigReview {
  let loaded: LoadedConfig
  try {
    loaded = loadConfig(text, source)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { config: null, problems: error.problems, warnings: [], notices: [] }
  }
  const { config, named, notices, locate, inFile } = loaded
  const warnings = findOversights(config, named).map(({ path, message }) => {
    return { field: writePath(inFile(path)), message, ...locate(inFile(path)) }
  })
  return { config, problems: environment ? unusableSecrets(loaded, environment) : [], warnings, notices }
}
