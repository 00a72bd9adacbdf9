/**
 * Checks that the documents keep to docs/writing.md, that their links lead somewhere, and that they stay below a ceiling.
 * It counts neither code nor parts that a run or a test writes. `--words` prints each page's words. Documents and comments
 * name only source files that exist.
 */

import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findDeadLinks, type Page } from './prose/find-dead-links.ts'
import { endingsOf, namedFiles } from './prose/find-missing-files.ts'
import { judge, wordsOf } from './prose/judge-sentences.ts'
import { readMarkdown } from './prose/read-markdown.ts'

const ROOT = join(import.meta.dirname, '..')
const MAX_WORDS_OF_ALL = 30_000
const NOT_OURS = /(?:^|\/)(?:node_modules|\.git|\.cache|\.artifacts|data)$/

const pages = globSync('**/*.md', { cwd: ROOT, exclude: (path) => NOT_OURS.test(path) })
  .toSorted()
  .map((path): Page => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return { path, text, blocks: readMarkdown(text) }
  })
const words = new Map(pages.map(({ path, blocks }) => [path, blocks.flatMap(({ text }) => wordsOf(text)).length]))
const total = [...words.values()].reduce((sum, count) => sum + count, 0)

const problems = pages.flatMap(({ path, blocks }) =>
  blocks.flatMap(judge).map(({ line, problem, sentence }) => `${path}:${line}: ${problem}: ${sentence}`),
)
problems.push(...findDeadLinks(pages, (path) => existsSync(join(ROOT, path))))

const sources = globSync('**/*.{ts,tsx,mjs,lua,py,css,md}', { cwd: ROOT, exclude: (path) => NOT_OURS.test(path) })
const endings = endingsOf(sources)
for (const path of sources.toSorted()) {
  for (const { line, name } of namedFiles(path, readFileSync(join(ROOT, path), 'utf8'))) {
    if (!endings.has(name)) problems.push(`${path}:${line}: no file has this name: ${name}`)
  }
}

if (total > MAX_WORDS_OF_ALL) problems.push(`The pages have ${total} words, at most ${MAX_WORDS_OF_ALL}.`)

if (process.argv.includes('--words')) {
  for (const [path, count] of [...words].toSorted(([, a], [, b]) => a - b)) {
    console.log(`${String(count).padStart(6)} ${path}`)
  }
}
for (const problem of problems) console.error(problem)
console.log(`prose: ${total} words in ${pages.length} pages, ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
