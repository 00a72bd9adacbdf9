/**
 * A newcomer finds any place at the first guess: each has a line in the layout, a README where it has code, and an owner.
 */

import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const modules = globSync('{packages,services,dev}/*/package.json', { cwd: ROOT }).map((path) =>
  path.replace('/package.json', ''),
)
const topFolders = ['tests', 'dev', 'deploy', 'docs', 'scripts', 'training']
const places = [...modules, ...topFolders]

const layout =
  textOf('ARCHITECTURE.md')
    .split('## ')
    .find((section) => section.startsWith('Layout')) ?? ''
const listed = [...layout.matchAll(/^\| \[([^\]]+)\]\(\1\) \|/gm)].map(([, place]) => place)
const owned = [...textOf('CODEOWNERS').matchAll(/^\/(\S+)\/ +@/gm)].map(([, place]) => place)

describe('every place', () => {
  test('has its line in the layout, and no line names a place that is gone', () => {
    expect(new Set(listed)).toEqual(new Set(places))
  })

  test('has an owner, and nobody owns a place that is gone', () => {
    expect(new Set(owned)).toEqual(new Set(places))
  })
})

test.each(modules)('%s has a README', (module) => {
  expect(existsSync(join(ROOT, module, 'README.md'))).toBe(true)
})

test("every module of the edge has its line in the edge's README, and no line names a module that is gone", () => {
  const there = globSync('services/edge/src/*/', { cwd: ROOT }).map((path) => path.split('/').at(-1))
  const rows = textOf('services/edge/README.md').matchAll(/^\| \[(\w+)\]\(src\/\1\) \|/gm)
  const inReadme = Array.from(rows, ([, module]) => module)
  expect(new Set(inReadme)).toEqual(new Set(there))
})
