/**
 * Compares the ledger with the responses that clients received.
 */

import type { Database } from '@gateway/postgres/database'
import { expect } from 'vitest'
import type { Outcome } from './load.ts'

interface LedgerRow {
  request_id: string
  tokens: number
  charge: number
  delivered: boolean
}

/** A broker that was away redelivers, and a ledger that was away catches up. */
const CAUGHT_UP = { timeout: 60_000, interval: 500 }

/** Each response whose end reached its client is in the ledger once, with the tokens that the client read. */
export async function expectMeteredOnce(database: Database, outcomes: readonly Outcome[]): Promise<void> {
  const completed = outcomes.filter((outcome) => outcome.completed)
  const received = new Map(completed.map(({ requestId, tokens }) => [requestId!, tokens]))
  expect(received.size).toBe(completed.length)
  const readMissing = async () => {
    const rows = await readRows(database)
    return [...received.keys()].filter((requestId) => !rows.has(requestId))
  }
  await expect.poll(readMissing, CAUGHT_UP).toEqual([])

  const rows = await readRows(database)
  const wrong = [...received].filter(([requestId, tokens]) => rows.get(requestId)!.tokens !== tokens)
  expect(wrong).toEqual([])
  expect([...received.keys()].filter((requestId) => !rows.get(requestId)!.delivered)).toEqual([])
  const refused = outcomes.filter(({ problem }) => problem !== null && /^\d+$/.test(problem))
  expect(refused.filter(({ requestId }) => (rows.get(requestId!)?.charge ?? 0) > 0)).toEqual([])
  await expectWindowsToBeSums(database)
}

/** Streams that broke off are in the ledger too, with the part that had been generated. */
export async function expectPartsMetered(database: Database, broken: readonly Outcome[]): Promise<void> {
  const readUnmetered = async () => {
    const rows = await readRows(database)
    return broken.filter(({ requestId }) => !((rows.get(requestId!)?.charge ?? 0) > 0))
  }
  await expect.poll(readUnmetered, CAUGHT_UP).toEqual([])
}

async function readRows(database: Database): Promise<Map<string, LedgerRow>> {
  const { rows } = await database.query<LedgerRow>(
    'select request_id, prompt_tokens + completion_tokens as tokens, charge, delivered from metering.ledger',
  )
  return new Map(rows.map((row) => [row.request_id, row]))
}

async function expectWindowsToBeSums(database: Database): Promise<void> {
  const readDifferences = async () => {
    const { rows } = await database.query(`
      select account, "window", windows.milli_tokens, sums.charge
      from metering.windows
      full join (
        select account, "window", sum(charge)::bigint as charge from metering.ledger group by account, "window"
      ) sums using (account, "window")
      where windows.milli_tokens is distinct from sums.charge`)
    return rows
  }
  await expect.poll(readDifferences, CAUGHT_UP).toEqual([])
}
