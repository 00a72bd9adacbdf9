import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isPermitted, readArguments, repositoryOf } from './collections.ts'

test.each(['MIT', 'Apache-2.0', 'BSD-3-Clause', 'CC0-1.0', 'CC-BY-4.0', 'ODC-BY-1.0', 'ODC-By/Apache-2.0', 'MIT-0'])(
  'a prompt under %s may train the shipped model',
  (license) => expect(isPermitted(license)).toBe(true),
)

test.each([
  'CC-BY-SA-4.0',
  'CC-BY-NC-4.0',
  'GPL-3.0',
  'CDLA-Permissive-1.0',
  'unknown',
  '',
  'MIT (texts CC-BY-SA-3.0)',
  'Apache-2.0 and unknown',
])('a prompt under "%s" trains nothing', (license) => expect(isPermitted(license)).toBe(false))

test('a folder of collections is read, without prompts whose licence does not permit it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'prompts-'))
  try {
    const line = (id: string, license: string) =>
      JSON.stringify({ id, messages: [{ role: 'user', content: id }], lane: 'bolt', also: [], source: 'a/b', license })
    writeFileSync(join(folder, 'some.jsonl'), `${line('kept', 'MIT')}\n${line('left-out', 'CC-BY-SA-4.0')}\n`)
    writeFileSync(join(folder, 'README.md'), 'no prompt')
    const { collected, others } = readArguments(['--quick', '--prompts', folder, 'labelled.jsonl'])
    expect(collected.map(({ id }) => id)).toEqual(['kept'])
    expect(others).toEqual(['--quick', 'labelled.jsonl'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('parts of one repository are one source', () => {
  expect(repositoryOf('Owner/Name:part')).toBe(repositoryOf('owner/name'))
})
