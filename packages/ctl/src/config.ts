/**
 * `config check`: what the gateway would refuse of a config file, and what it would accept although it can hardly be
 * meant. Needs no gateway.
 */

import { readFile } from 'node:fs/promises'
import type { PlacedProblem } from '@gateway/config/config-error'
import { reviewConfig, type ConfigReview } from '@gateway/config/review-config'
import { renderTable, type Answer } from './answer.ts'
import { CommandError } from './command-error.ts'

export interface CheckOptions {
  /** False: secrets are not in this environment. */
  secrets: boolean
  strict?: boolean
}

export async function checkConfigFile(file: string, { secrets, strict = false }: CheckOptions): Promise<Answer> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CommandError(`${file} cannot be read: ${error.message}`)
  })
  const review = reviewConfig(text, file, secrets ? process.env : null)
  const { config, problems, warnings, notices } = review
  const usable = problems.length === 0
  return {
    facts: { file, usable, revision: config?.revision ?? null, problems, warnings, notices },
    text: [...tableOf(review), ...notices.map((notice) => `note: ${notice}`), verdict(file, review)].join('\n'),
    findsFault: !usable || (strict && warnings.length > 0),
  }
}

function tableOf({ problems, warnings }: ConfigReview): string[] {
  const rows = [
    ...problems.map((problem) => ({ kind: 'error', ...problem })),
    ...warnings.map((warning) => ({ kind: 'warning', ...warning })),
  ]
  if (rows.length === 0) return []
  const placeOf = ({ line, column }: PlacedProblem) => (line === undefined ? '' : `${line}:${column ?? 1}`)
  const columns = [
    { title: 'kind', cell: (row: (typeof rows)[number]) => row.kind },
    { title: 'line', cell: placeOf },
    { title: 'field', cell: (row: PlacedProblem) => row.field },
    { title: 'what', cell: (row: PlacedProblem) => row.message },
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
