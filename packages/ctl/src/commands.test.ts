/** The operator's requests against the commands that send them, and the commands against the README. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { procedures, type Procedure } from '@gateway/contracts/bus-roles'
import { expect, test } from 'vitest'

const read = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8')
const sources = readdirSync(import.meta.dirname).filter((file) => !file.endsWith('.test.ts'))

test('every request that the bus leaves to operators has a command', () => {
  const questions = Object.entries<Procedure>(procedures).filter(
    ([, { kind, from }]) => kind === 'question' && from.includes('ctl'),
  )
  const requested = new Set(
    sources.flatMap((file) => Array.from(read(file).matchAll(/\.request\('(\w+)'/g), ([, name]) => name!)),
  )
  expect([...requested].toSorted()).toEqual(questions.map(([name]) => name).toSorted())
})

test('the README names every command', () => {
  const commands = Array.from(read('main.ts').matchAll(/\.command\('([\w-]+)/g), ([, name]) => name!)
  const rows = Array.from(read('../README.md').matchAll(/^\| (`.+?`) \|/gm), ([, names]) => names!).join(' ')
  const named = new Set(rows.match(/[\w-]+/g))
  expect(commands.length).toBeGreaterThan(10)
  expect(commands.filter((name) => !named.has(name))).toEqual([])
})
