/**
 * The text of a config file, parsed, completed and checked. Pure: the same text gives the same configuration and
 * revision in every process. A `ConfigError` names line, column, field and expectation of each problem.
 */

import { createHash } from 'node:crypto'
import { DEFAULT_ADMINISTRATION, type AdministrationSettings } from '@gateway/contracts/administration/settings'
import { checkConfig, type ConfigPath } from '@gateway/contracts/check-config'
import { completeConfig } from '@gateway/contracts/complete-config'
import {
  configFile,
  type ConfigFile,
  type ConfigSections,
  type ErrorShape,
  type GatewayConfig,
  type ServedModelConfig,
} from '@gateway/contracts/config'
import type { ExportConfig } from '@gateway/contracts/exports'
import type { WebhookConfig } from '@gateway/contracts/webhooks'
import { listRates } from '@gateway/pricing/list-rates'
import { toolPricesOf } from '@gateway/pricing/tool-prices'
import { ConfigError, writePath, type LocatedProblem } from './config-error.ts'
import { readConfigDocument, type Locate } from './config-document.ts'

export interface LoadedConfig {
  config: GatewayConfig
  /** Remarks for an operator about a valid configuration. */
  notices: string[]
  /** The sections that the file names; the others are defaults. */
  named: ReadonlySet<keyof ConfigSections>
  locate: Locate
  /** A path into the configuration as the file has it: with `extends` its items stand elsewhere, or not in the file. */
  inFile(path: ConfigPath): ConfigPath
}

/** Without a file: the defaults. */
export function loadDefaultConfig(): LoadedConfig {
  return loadConfig('', 'the default configuration')
}

export function loadConfig(text: string, source: string): LoadedConfig {
  const { value, locate, syntaxProblem } = readConfigDocument(text)
  if (syntaxProblem) throw new ConfigError(source, [syntaxProblem])
  const parsed = configFile.safeParse(value ?? {}, { reportInput: true })
  if (!parsed.success)
    throw new ConfigError(
      source,
      parsed.error.issues.flatMap((issue) => describeIssue(issue, locate)),
    )

  const notices: string[] = []
  const { sections, unservedModels } = completeConfig(parsed.data, {
    ratesOf: (model) => ratesOf(model, notices),
    toolsOf: (model) => toolPricesOf(model, listRates(model)?.tools),
  })
  const named = new Set(SECTIONS.filter((section) => parsed.data[section] !== undefined))
  const inFile = (path: ConfigPath) => (parsed.data.extends ? ownPath(path, sections, parsed.data) : path)
  const problems = checkConfig(sections, named)
  if (problems.length > 0) {
    throw new ConfigError(
      source,
      problems.map(({ path, message }) => ({ field: writePath(inFile(path)), message, ...locate(inFile(path)) })),
    )
  }
  const { errors = 'auto', operators, signIn, audit, webhooks, exports } = parsed.data
  const settings = { errors, operators, signIn, audit, webhooks, exports }
  return {
    config: { revision: revisionOf(sections, settings), ...sections, ...settings },
    notices: [...notices, ...noticesOf(unservedModels)],
    named,
    locate,
    inFile,
  }
}

const SECTIONS = ['backends', 'pools', 'models', 'plans'] as const

function ownPath(path: ConfigPath, sections: ConfigSections, file: ConfigFile): ConfigPath {
  const [section, index, ...rest] = path
  const at = SECTIONS.find((name) => name === section)
  if (at === undefined || typeof index !== 'number') return path
  const item = sections[at][index]
  const own = item ? (file[at] ?? []).findIndex((other) => idOf(other) === idOf(item)) : -1
  return own < 0 ? [at] : [at, own, ...rest]
}

function idOf(item: { id: string } | { slug: string }): string {
  return 'id' in item ? item.id : item.slug
}

type Settings = { errors: ErrorShape; webhooks: WebhookConfig[]; exports: ExportConfig[] } & AdministrationSettings
const DEFAULT_SETTINGS: Settings = { errors: 'auto', ...DEFAULT_ADMINISTRATION, webhooks: [], exports: [] }

/** Twelve hex digits that change with any effective change: comments, order of fields and spelled-out defaults do not count. */
function revisionOf({ backends, pools, models, plans }: ConfigSections, settings: Settings): string {
  // A default adds nothing: processes of the last release know the same file by the same revision.
  const changed = Object.entries({ ...DEFAULT_SETTINGS, ...settings })
    .filter(([name, value]) => canonical(value) !== canonical(DEFAULT_SETTINGS[name as keyof Settings]))
    .map(([name, value]) => ({ [name]: value }))
  return createHash('sha256')
    .update(canonical([backends, pools, models, plans, ...changed]))
    .digest('hex')
    .slice(0, 12)
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}

function ratesOf(model: ServedModelConfig, notices: string[]) {
  const listed = listRates(model)
  if (listed?.changesOn !== undefined) {
    notices.push(
      `the rates of ${model.id} change on ${listed.changesOn}, which ${listed.rates.source} announces: ` +
        'name them in `rates` from then on, or upgrade',
    )
  }
  return listed?.rates
}

function noticesOf(unservedModels: string[]): string[] {
  if (unservedModels.length === 0) return []
  return [`default models that are not served, because no pool of the file is theirs: ${unservedModels.join(', ')}`]
}

type Issue = NonNullable<ReturnType<typeof configFile.safeParse>['error']>['issues'][number]

function describeIssue(issue: Issue, locate: Locate): LocatedProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const path = [...issue.path, key]
      return { field: writePath(path), message: 'is not a field of the config file here', ...locate(path) }
    })
  }
  const missing = issue.code === 'invalid_type' && issue.input === undefined
  const message = missing ? `is required: expected ${issue.expected}` : plainWords(issue.message)
  return [{ field: writePath(issue.path), message, ...locate(issue.path) }]
}

/** The schema library's sentence without the part that only says that something is wrong. */
function plainWords(message: string): string {
  return message
    .replace(/^(?:Invalid (?:input|option)|Too (?:small|big)): /, '')
    .replace(/^Invalid discriminator value. E/, 'e')
}
