import { expect, test } from 'vitest'
import { keySlot } from './key-slot.ts'

test.each([
  ['123456789', 12_739],
  ['foo', 12_182],
  ['{user1000}.following', 3_443],
  ['{user1000}.followers', 3_443],
  ['foo{}{bar}', 8_363],
  ['', 0],
])('%s lies in slot %i, as CLUSTER KEYSLOT says', (key, slot) => {
  expect(keySlot(key)).toBe(slot)
})
