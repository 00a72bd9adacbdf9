import { setImmediate as nextTurn } from 'node:timers/promises'
import { exportsSection } from '@gateway/contracts/exports'
import { describe, expect, test } from 'vitest'
import { ledgerRow } from '../../test/ledger-row.ts'
import { type Entry, originalEntry } from './core/entries.ts'
import { encodeOnThread, ROWS_A_TURN } from './encode-on-thread.ts'
import { encodePart } from './encode-part.ts'

const FILE = { day: '2025-01-10', closedThrough: null }
const FORMATS = [
  { format: 'parquet' },
  { format: 'parquet', columns: 'focus' },
  { format: 'ndjson' },
  { format: 'ndjson', columns: 'cloudevents' },
  { format: 'cloudevents', to: 'https://collector.example/api/v1/events' },
]
const configOf = (given: object) => exportsSection.parse([{ to: 'file:///exports', ...given }])[0]!
const entries = (count: number) =>
  Array.from({ length: count }, (_, charge) => originalEntry(ledgerRow({ charge }), FILE))

async function* pagesOf(...pages: Entry[][]): AsyncGenerator<Entry[]> {
  yield* pages
}

describe('a part that is encoded on a thread', () => {
  test.each(FORMATS)('has the bytes and the counts that it has here: %j', async (given) => {
    const pages = [entries(ROWS_A_TURN + 1), entries(3)]
    const part = await encodeOnThread(configOf(given), pagesOf(...pages))
    const same = await encodePart(configOf(given), pagesOf(...pages))
    expect(Buffer.from(part.bytes).equals(Buffer.from(same.bytes))).toBe(true)
    expect(part).toMatchObject({ rows: ROWS_A_TURN + 4, corrections: 0 })
  })

  test.each(FORMATS)('keeps no turn of the event loop for more than a few rows: %j', async (given) => {
    let [readInTurn, mostInTurn] = [0, 0]
    const over = new AbortController()
    const row = ledgerRow()
    const watched = entries(2_000).map((entry): Entry => ({
      ...entry,
      get row() {
        mostInTurn = Math.max(mostInTurn, ++readInTurn)
        return row
      },
    }))
    const countTurns = async () => {
      for (; !over.signal.aborted; readInTurn = 0) await nextTurn()
    }
    const turning = countTurns()
    await encodeOnThread(configOf(given), pagesOf(watched))
    over.abort()
    await turning
    expect(mostInTurn).toBeGreaterThan(0)
    expect(mostInTurn).toBeLessThanOrEqual(2 * ROWS_A_TURN)
  })

  test('fails where its rows cannot be read, and where the thread cannot write them', async () => {
    const unreadable = async function* (): AsyncGenerator<Entry[]> {
      yield entries(1)
      throw new Error('the database is away')
    }
    await expect(encodeOnThread(configOf(FORMATS[0]!), unreadable())).rejects.toThrow('the database is away')
    const broken = originalEntry(ledgerRow({ charge: 0.5 }), FILE)
    await expect(encodeOnThread(configOf(FORMATS[0]!), pagesOf([broken]))).rejects.toThrow(RangeError)
  })
})
