/**
 * Each living topic has one page of decisions, with the same sections. The list of pages is written from their titles:
 * `npm test -- scripts/prose/decisions-index.test.ts -u`.
 */

import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'docs/decisions')
const INDEX = join(FOLDER, 'README.md')
const LIST = /(?<=<!-- titles: [^\n]*\n)[^]*(?=<!-- \/titles -->)/
const SECTIONS = ['Why', 'Decision', 'Rejected', 'Consequences']

const pages = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.md') && name !== 'README.md')
  .map((name) => ({ name, text: readFileSync(join(FOLDER, name), 'utf8') }))

test('the index of the decisions has the title of each page', async () => {
  const index = readFileSync(INDEX, 'utf8')
  expect(index).toMatch(LIST)
  const lines = pages.map(({ name, text }) => `- [${titleOf(name, text)}](${name})\n`)
  await expect(index.replace(LIST, () => lines.toSorted().join(''))).toMatchFileSnapshot(INDEX)
})

describe.each(pages)('the page $name', ({ name, text }) => {
  test('gives the reason, the decision, the rejected alternatives and the consequences, in this order', () => {
    expect(Array.from(text.matchAll(/^## (.+)$/gm), ([, heading]) => heading)).toEqual(SECTIONS)
  })

  test('is linked from the documents of the parts that it decides about', () => {
    const documents = globSync('{*.md,{docs,deploy}/*.md,{packages,services,dev}/*/README.md}', { cwd: ROOT })
    const linking = documents.filter((path) => readFileSync(join(ROOT, path), 'utf8').includes(`decisions/${name}`))
    expect(linking).not.toEqual([])
  })
})

function titleOf(name: string, text: string): string {
  const [, title] = /^# (.+)$/m.exec(text) ?? []
  if (title === undefined) throw new Error(`${name} needs a title`)
  return title
}
