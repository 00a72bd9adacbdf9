/**
 * Schemas of others are here for their names and types, which are facts; their sentences stay with them.
 */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const SENTENCE = /(?:[a-z’']+,? ){4}[a-z’']+/i
const files = globSync(['deploy/schemas/*.json', 'services/router/test/vendors/schemas/*.json'], { cwd: ROOT })

test('a copied schema holds no sentence of its authors', () => {
  const found = files.flatMap((file) => {
    const texts: string[] = []
    JSON.parse(readFileSync(join(ROOT, file), 'utf8'), (_, value: unknown) => {
      if (typeof value === 'string' && SENTENCE.test(value)) texts.push(`${file}: ${value}`)
    })
    return texts
  })
  expect(files.length).toBeGreaterThan(10)
  expect(found).toEqual([])
})
