import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readPublic, repositoryOf } from './public.ts'

const prompts = readPublic()
/** By repository: the lines of its entry. */
const told = new Map(
  readFileSync(new URL('public/SOURCES.txt', import.meta.url), 'utf8')
    .split('\n\n')
    .map((entry) => entry.split('\n'))
    .map(([repository = '', ...lines]) => [repository.toLowerCase(), lines.join('\n')]),
)

test('each public prompt has a source whose entry tells its licence and where it was taken from', () => {
  for (const { id, source, license } of prompts) {
    const entry = told.get(repositoryOf(source))
    expect(entry, `${id}: ${source} has no entry`).toContain(license)
    expect(entry?.split('\n').length, `${source}: no word on its commit and authors`).toBeGreaterThan(1)
  }
})

test('no public prompt forbids to be passed on or sold', () => {
  const forbids = /\bNC\b|\bND\b|GPL|none|unknown|proprietary/i
  expect(prompts.filter(({ license }) => forbids.test(license))).toEqual([])
})

test('no two public prompts are the same, and none ends with an assistant’s turn', () => {
  expect(new Set(prompts.map(({ id }) => id)).size).toBe(prompts.length)
  expect(new Set(prompts.map(({ messages }) => JSON.stringify(messages))).size).toBe(prompts.length)
  expect(prompts.filter(({ messages }) => messages.at(-1)?.role !== 'user')).toEqual([])
})
