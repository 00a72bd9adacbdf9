/**
 * Prompts that others wrote: collections in a folder of the reader's, named by `--prompts <folder>`. This repository
 * holds none of them. Each line of a `.jsonl` file there names its source and its licence. Prompts under a licence that
 * requires more than attribution are left out, so that the trained model carries no further duty.
 */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readPrompts, type Prompt } from './prompts.ts'

/** One prompt has its own label, unlike a template's fillings. Bolt has many of them and Atlas few, so none counts whole. */
const WEIGHT = 0.6
const PERMITTED = /^(?:MIT(?:-0)?|BSD-[23]-Clause|Apache-2\.0|CC0-1\.0|CC-BY-\d\.\d|ODC-BY(?:-1\.0)?)$/i

export interface CollectedPrompt extends Prompt {
  license: string
}

/** Prompts of `--prompts <folder>`, and the arguments that are left. */
export function readArguments(argv: readonly string[]): { collected: CollectedPrompt[]; others: string[] } {
  const at = argv.indexOf('--prompts')
  if (at < 0) return { collected: [], others: [...argv] }
  const folder = argv[at + 1]
  if (folder === undefined) throw new Error('--prompts needs a folder of .jsonl files')
  return { collected: readCollections(folder), others: argv.toSpliced(at, 2) }
}

export function readCollections(folder: string): CollectedPrompt[] {
  const all = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readPrompts(join(folder, name)) as CollectedPrompt[])
  const permitted = all.filter(({ license }) => isPermitted(license))
  console.log(`${folder}: ${permitted.length} prompts; ${all.length - permitted.length} left out for their licence`)
  return permitted.map((prompt) => ({ ...prompt, weight: WEIGHT }))
}

/** Every licence that the text names, in brackets too, must permit reuse with attribution alone. */
export function isPermitted(license: string): boolean {
  const names = license.match(/[A-Za-z][\w.]*-[\w.-]*\w|\bMIT\b|\b(?:GPL|AGPL|LGPL)\w*|\bunknown\b/g) ?? []
  const licences = names.filter((name) => !COLLECTIONS.has(name))
  return licences.length > 0 && licences.every((name) => PERMITTED.test(name))
}

/** Names of collections that stand in a licence's text. */
const COLLECTIONS = new Set(['Online-Mind2Web'])

/** The repository of a source, which may have several parts. */
export function repositoryOf(source: string): string {
  const [repository = ''] = source.toLowerCase().split(':')
  return repository
}
