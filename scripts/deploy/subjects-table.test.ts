import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ARCHITECTURE_PATH, withSubjects } from './subjects-table.ts'

test("ARCHITECTURE.md has the subjects of the contract's table (npm run write deploy)", () => {
  expect(readFileSync(ARCHITECTURE_PATH, 'utf8')).toBe(withSubjects())
})
