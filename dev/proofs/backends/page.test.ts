import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writePage, writeVendors } from './write-page.ts'

test("the page about backends agrees with the stand-ins' table of vendors; -u writes it", async () => {
  const page = join(import.meta.dirname, '../../../docs/backends.md')
  const vendors = /## Vendors[^]*<!-- end errors -->/
  await expect(readFileSync(page, 'utf8').replace(vendors, () => writeVendors())).toMatchFileSnapshot(page)
})

test('the page claims of a client or a server only findings of the run', () => {
  const page = writePage({
    versions: 'openai 1.0.0',
    findings: [{ server: 'llama.cpp', check: 'vision', result: 'no' }],
    tests: [
      { server: 'llama.cpp', test: 'a thing that works', passed: true },
      { server: 'llama.cpp', test: 'a thing that fails', passed: false },
    ],
    clients: [
      {
        client: 'A',
        server: 'x',
        outcomes: [
          { name: 'chat', value: 'hi' },
          { name: 'tools', error: 'TypeError' },
        ],
      },
      { client: 'B', server: 'y', outcomes: [{ name: 'chat', value: 'hi' }] },
    ],
  })
  expect(page).toContain('| vision | no |')
  expect(page).toContain('- a thing that works')
  expect(page).not.toContain('a thing that fails')
  expect(page).toContain('| x | not: tools |  |')
  expect(page).toContain('| y |  | chat |')
})
