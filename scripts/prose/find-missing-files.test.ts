import { expect, test } from 'vitest'
import { endingsOf, namedFiles } from './find-missing-files.ts'

const missing = (path: string, text: string, files: string[]) => {
  const endings = endingsOf(files)
  return namedFiles(path, text).filter(({ name }) => !endings.has(name))
}

const files = ['services/edge/src/main.ts', 'docs/writing.md', 'packages/admission/src/lua/admit.lua']

test('a document may name a file by its path, by the end of its path, or by its name', () => {
  expect(
    missing('a.md', '`services/edge/src/main.ts`, `src/main.ts`, `./lua/admit.lua` and `writing.md#rules`', files),
  ).toEqual([])
})

test('a name without a file is found with its line', () => {
  expect(missing('a.md', 'One.\n\nSee `src/gone.ts` and `edge/main.ts`.', files)).toEqual([
    { line: 3, name: 'src/gone.ts' },
    { line: 3, name: 'edge/main.ts' },
  ])
})

test('of a source file only the comments count', () => {
  const lines = ['const name =', '/** See', ' *', 'call() // as'].map((start) => `${start} \`gone.ts\``)
  expect(missing('a.ts', lines.join('\n'), files).map(({ line }) => line)).toEqual([2, 3, 4])
})
