/**
 * Checks comments, titles of tests and the help of commands: they keep to docs/writing.md, and neither they nor names use retired
 * words. A folder as an argument lists its places alone.
 */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { judge, type Finding } from './prose/judge-sentences.ts'
import { readCode } from './prose/read-code.ts'
import { findRetiredInName, findRetiredInProse } from './prose/retired-words.ts'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = '{services,packages,dev,tests,scripts,training}/**/*.{ts,tsx,mts,mjs}'
/** Names of others: a wire, a library, a database or a metric has these. One a line, with its place. */
const NAMES_OF_OTHERS = new Set<string>([
  // A member of the job's header on the bus: packages/contracts/src/job.ts.
  'asksHostedTools',

  // The subjects `keys.answer-secrets` and `keys.note-standing`.
  ...['keysAnswerSecrets', 'keysNoteStanding'],
  // Further rows and parts of golden messages: two versions share them.
  ...['answers', 'keptAnswers', 'news'],
  // The reply of `keys.reseal`.
  'sealedAnew',
  // A usage event, and its column in the ledger.
  ...['modelAsked', 'model_asked'],
  // A job's header.
  'asksHostedTools',
  // The former release's module of remote procedures (`tests/skew/messages.ts`).
  'talks',
  // A parameter of SGLang (`services/router/test/control-parameters.test.ts`).
  'bootstrap_room',
  // A command of `ioredis` (`packages/redis/src/connection.ts`).
  'asking',
])
/** Whose strings a person reads at the command line. */
const COMMANDS =
  /^(?:(?:packages\/ctl|services\/standalone)\/src|dev\/(?:bench|chaos)\/(?:main|options)\.ts|scripts\/[\w-]+\.ts)/

const folder = process.argv.slice(2).findLast((word) => !word.startsWith('--')) ?? ''
const exclude = (path: string) => /node_modules|dist$|\/native$/.test(path)
const files = globSync(SOURCES, { cwd: ROOT, exclude }).filter((path) => path.startsWith(folder))
let problems = 0
for (const path of files.toSorted()) {
  const findings = findIn(path)
  for (const { line, problem, sentence } of findings) console.error(`${path}:${line}: ${problem}: ${sentence}`)
  problems += findings.length
}
console.log(`prose of the code: ${files.length} files, ${problems} problems`)
process.exitCode = problems === 0 ? 0 : 1

function findIn(path: string): Finding[] {
  const { comments, titles, words, strings } = readCode(readFileSync(join(ROOT, path), 'utf8'))
  const prose = [...comments, ...titles, ...(COMMANDS.test(path) && !path.includes('.test.') ? strings : [])]
  return [
    ...prose.flatMap((block) => [...judge(block), ...findRetiredInProse(block)]),
    ...words.filter(({ word }) => !NAMES_OF_OTHERS.has(word)).flatMap(findRetiredInName),
  ]
}
