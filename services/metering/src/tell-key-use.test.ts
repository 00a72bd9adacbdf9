import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { keysUsed } from '@gateway/contracts/developer-keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { expect, test, vi } from 'vitest'
import { usageEvent } from '../test/usage-events.ts'
import { createKeyUse } from './tell-key-use.ts'

test('the last use of each key is told, once a minute', async () => {
  await using bus = await openMemoryBus({ hub: createMemoryHub() })
  const told: unknown[] = []
  await bus.listen(subjects.keysUsed, (word) => {
    told.push(...keysUsed.parse(JSON.parse(Buffer.from(word).toString())).uses)
  })
  let nowMs = 0
  const keyUse = createKeyUse(bus, () => nowMs)
  const use = (keyId: string, endedAtMs: number) => ({
    event: usageEvent({ keyId, endedAtMs }),
    rank: 2,
    charge: 1,
    sequence: 1,
  })

  keyUse.tell([use('a', 300), use('b', 100), use('a', 200)])
  await vi.waitFor(() => expect(told).toHaveLength(2))
  expect(told).toEqual([
    { keyId: 'a', usedAtMs: 300 },
    { keyId: 'b', usedAtMs: 100 },
  ])

  nowMs = 59_999
  keyUse.tell([use('a', 59_000), use('c', 59_000)])
  nowMs = 60_000
  keyUse.tell([use('a', 60_000)])
  await vi.waitFor(() => expect(told).toHaveLength(4))
  expect(told.slice(2)).toEqual([
    { keyId: 'c', usedAtMs: 59_000 },
    { keyId: 'a', usedAtMs: 60_000 },
  ])
})
