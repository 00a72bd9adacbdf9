/**
 * The list of decisions is written from their titles: `npm test -- scripts/prose/decisions-index.test.ts -u`.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const FOLDER = join(import.meta.dirname, '../../docs/decisions')
const INDEX = join(FOLDER, 'README.md')
const LIST = /(?<=<!-- titles: [^\n]*\n)[^]*(?=<!-- \/titles -->)/

test('the index of the decisions has the title of each, in their order', async () => {
  const index = readFileSync(INDEX, 'utf8')
  expect(index).toMatch(LIST)
  const pages = readdirSync(FOLDER).filter((name) => /^\d{3}-.*\.md$/.test(name))
  const lines = pages.toSorted().map((name) => `- [${titleOf(name)}](${name})\n`)
  await expect(index.replace(LIST, () => lines.join(''))).toMatchFileSnapshot(INDEX)
})

function titleOf(name: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(FOLDER, name), 'utf8')) ?? []
  if (!title?.startsWith(`${name.slice(0, 3)}: `)) throw new Error(`${name} needs a title that begins with its number`)
  return title
}
