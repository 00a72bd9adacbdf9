/**
 * A newcomer finds any place at the first guess: each has a line in the floor plan, a README where it has code, and an owner.
 */

import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const rooms = globSync('{packages,services}/*/package.json', { cwd: ROOT }).map((path) =>
  path.replace('/package.json', ''),
)
const topFolders = ['tests', 'chaos', 'bench', 'deploy', 'docs', 'scripts', 'training']
const places = [...rooms, ...topFolders]

const floorPlan =
  textOf('ARCHITECTURE.md')
    .split('## ')
    .find((section) => section.startsWith('Floor plan')) ?? ''
const planned = [...floorPlan.matchAll(/^\| \[([^\]]+)\]\(\1\) \|/gm)].map(([, place]) => place)
const owned = [...textOf('CODEOWNERS').matchAll(/^\/(\S+)\/ +@/gm)].map(([, place]) => place)

describe('every place', () => {
  test('has its line in the floor plan, and no line is of a place that is gone', () => {
    expect(new Set(planned)).toEqual(new Set(places))
  })

  test('has an owner, and nobody owns a place that is gone', () => {
    expect(new Set(owned)).toEqual(new Set(places))
  })
})

test.each(rooms)('%s says in a README what it is for', (room) => {
  expect(existsSync(join(ROOT, room, 'README.md'))).toBe(true)
})

test("every room of the edge has its line in the edge's README, and no line is of a room that is gone", () => {
  const there = globSync('services/edge/src/*/', { cwd: ROOT }).map((path) => path.split('/').at(-1))
  const told = [...textOf('services/edge/README.md').matchAll(/^\| \[(\w+)\]\(src\/\1\) \|/gm)].map(([, room]) => room)
  expect(new Set(told)).toEqual(new Set(there))
})
