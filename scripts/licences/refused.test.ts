import { expect, test } from 'vitest'
import { refusedLicences } from './refused.ts'

const refuses = (parts: object, name = 'a') => refusedLicences([{ name, version: '1.0.0', ...parts }]).length > 0

test.each([
  [{ license: 'MIT' }, false],
  [{ licenses: [{ type: 'MIT' }] }, false],
  [{ license: '(MIT OR GPL-3.0)' }, false],
  [{ license: '(MIT AND Apache-2.0)' }, false],
  [{ license: '(MIT AND GPL-3.0)' }, true],
  [{ license: 'GPL-3.0' }, true],
  [{ license: 'AGPL-3.0-only' }, true],
  [{ license: 'MPL-2.0' }, true],
  [{ license: 'SEE LICENSE IN LICENSE.txt' }, true],
  [{}, true],
])('%j: refused is %s', (parts, refused) => {
  expect(refuses(parts)).toBe(refused)
})

test('weak copyleft is for named tools alone', () => {
  expect(refuses({ license: 'MPL-2.0' }, 'lightningcss-linux-x64-gnu')).toBe(false)
  expect(refuses({ license: 'MPL-2.0' }, 'another')).toBe(true)
})
