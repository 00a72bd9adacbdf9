/**
 * `config check`: finds the mistakes in a config file, and valid parts that are hardly meant so. `config import`: a file of
 * another gateway as one of ours. Neither needs a gateway; with `--url`, that gateway checks the file by its own version.
 */

import { readFile } from 'node:fs/promises'
import { writePath, type LocatedProblem } from '@gateway/config/config-error'
import { readConfigDocument } from '@gateway/config/config-document'
import { reviewConfig, type ConfigReview } from '@gateway/config/review-config'
import type { ConfigProblem } from '@gateway/contracts/check-config'
import type { ConfigFileInput, ModelConfig } from '@gateway/contracts/config'
import { findModel, isRetired } from '@gateway/contracts/models'
import { UsageError } from '@gateway/service/report-fatal'
import { oneLine, renderTable, type CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'
import { importLitellm } from './import-litellm.ts'

export interface CheckOptions {
  /** False when secrets are not in this environment. */
  secrets: boolean
  strict?: boolean
  /** The file that runs now: a model of it may not be missing without notice. */
  former?: string
}

export async function checkConfigFile(
  file: string,
  { secrets, strict = false, former }: CheckOptions,
): Promise<CommandResult> {
  const review = reviewConfig(await readText(file), file, secrets ? process.env : null)
  if (former !== undefined) review.problems.push(...lostSince(former, await readText(former), review))
  const { config, problems, warnings, notices } = review
  const usable = problems.length === 0
  return {
    data: { file, usable, revision: config?.revision ?? null, problems, warnings, notices },
    text: [...tableOf(review), ...notices.map((notice) => `note: ${notice}`), verdict(file, review)].join('\n'),
    findsFault: !usable || (strict && warnings.length > 0),
  }
}

/** The gateway of the address checks the file, by its own version. It has no secrets to look for. */
export async function checkConfigAt(
  { administer }: Pick<Gateway, 'administer'>,
  file: string,
  { strict = false, former }: CheckOptions,
): Promise<CommandResult> {
  if (former !== undefined) throw new UsageError('--former is for a check without --url')
  const { object: _, ...checked } = await administer('config.check', { yaml: await readText(file) })
  const { usable, problems, warnings, notices } = checked
  const found = `${count(problems.length, 'error')}, ${count(warnings.length, 'warning')}`
  const last = usable ? `can be used: ${found}; revision ${checked.revision}` : `cannot be used: ${found}`
  return {
    data: { file, ...checked },
    text: [...tableOf(checked), ...notices.map((notice) => `note: ${notice}`), `${file} ${last}`].join('\n'),
    findsFault: !usable || (strict && warnings.length > 0),
  }
}

export async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`)
  })
}

function lostSince(file: string, text: string, { config }: ConfigReview): LocatedProblem[] {
  const former = reviewConfig(text, file, null).config
  if (!former) throw new UsageError(`${file} cannot be used itself, so nothing can be held against it`)
  const lost = config ? lostDirectModels(former.models, config.models, Date.now()) : []
  return lost.map(({ path, message }) => ({ field: writePath(path), message }))
}

/**
 * Vendors' models that end without the promised notice: the former file serves them, the new one does not, and no past `sunset`
 * announced it.
 */
export function lostDirectModels(
  former: readonly ModelConfig[],
  models: readonly ModelConfig[],
  nowMs: number,
): ConfigProblem[] {
  return former.flatMap((model) => {
    if (model.type === 'auto' || !model.direct || isRetired(model, nowMs)) return []
    if (findModel(models, model.id)) return []
    const message =
      `lack the direct model "${model.id}", which may end with notice only: ` +
      'keep it with a `sunsetAt`, and leave it out when that day has come'
    return [{ path: ['models'], message }]
  })
}

/** The file for this gateway, with a comment for each setting that it could not take over. */
export async function importLitellmFile(file: string): Promise<CommandResult> {
  const { value, syntaxProblem } = readConfigDocument(await readText(file))
  if (syntaxProblem) throw new UsageError(`${file} ${syntaxProblem.message}`)
  const imported = importLitellm(value)
  const comments = [
    `Imported from LiteLLM's ${file}. Look it through, and run \`ctl config check\` on it.`,
    ...imported.notes,
    ...(imported.withoutCounterpart.length > 0 ? ['Without a counterpart here:'] : []),
    ...imported.withoutCounterpart.map((setting) => `  ${setting}`),
  ].map((comment) => `# ${oneLine(comment)}`)
  return { data: imported, text: [...comments, '', ...writeYaml(imported.file)].join('\n') }
}

/** One item a line. JSON is YAML, too. */
function writeYaml({ extends: base, backends = [], pools = [], models = [], plans = [] }: ConfigFileInput): string[] {
  const lines = Object.entries({ backends, pools, models, plans }).flatMap(([name, items]) => {
    return items.length === 0 ? [] : ['', `${name}:`, ...items.map((item) => `  - ${JSON.stringify(item)}`)]
  })
  return [`extends: ${base}`, ...lines]
}

function tableOf({ problems, warnings }: Pick<ConfigReview, 'problems' | 'warnings'>): string[] {
  const rows = [
    ...problems.map((problem) => ({ kind: 'error', ...problem })),
    ...warnings.map((warning) => ({ kind: 'warning', ...warning })),
  ]
  if (rows.length === 0) return []
  const positionOf = ({ line, column }: LocatedProblem) => (line === undefined ? '' : `${line}:${column ?? 1}`)
  const columns = [
    { title: 'kind', cell: (row: (typeof rows)[number]) => row.kind },
    { title: 'line', cell: positionOf },
    { title: 'field', cell: (row: LocatedProblem) => row.field },
    { title: 'what', cell: (row: LocatedProblem) => row.message },
  ]
  return [renderTable(columns, rows)]
}

function verdict(file: string, { config, problems, warnings }: ConfigReview): string {
  const found = [count(problems.length, 'error'), count(warnings.length, 'warning')].join(', ')
  if (problems.length > 0 || config === null) return `${file} cannot be used: ${found}`
  const { backends, pools, models, plans } = config
  const parts = [
    count(backends.length, 'backend'),
    count(pools.length, 'pool'),
    count(models.length, 'model'),
    count(plans.length, 'plan'),
  ]
  return `${file} can be used: ${found}; revision ${config.revision}, ${parts.join(', ')}`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
