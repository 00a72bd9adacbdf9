/**
 * Compares the ledger with the responses that clients got, once it has caught up.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase } from '@gateway/postgres/database'
import type { Outcome } from '../../../tests/promises/load.ts'

const CATCH_UP_MS = 60_000
const POLL_MS = 500

/** Returns the number of responses that the ledger holds once, with the tokens that the client saw. Throws when one differs. */
export async function proveLedger(url: string, outcomes: readonly Outcome[]): Promise<number> {
  await using database = await openDatabase(url)
  const reported = new Map(outcomes.filter(({ completed }) => completed).map((one) => [one.requestId!, one.tokens]))
  const deadline = Date.now() + CATCH_UP_MS
  for (;;) {
    const { rows } = await database.query<{ request_id: string; tokens: number }>(
      'select request_id, prompt_tokens + completion_tokens as tokens from metering.ledger',
    )
    const ledger = Map.groupBy(rows, (row) => row.request_id)
    const differing = [...reported].filter(([id, tokens]) => {
      const [row, ...others] = ledger.get(id) ?? []
      return row?.tokens !== tokens || others.length > 0
    })
    if (differing.length === 0 && (await windowsAreSums())) return reported.size
    if (Date.now() > deadline) {
      throw new Error(
        `${differing.length} of ${reported.size} responses are not in the ledger as reported: ${JSON.stringify(differing.slice(0, 5))}`,
      )
    }
    await delay(POLL_MS)
  }

  async function windowsAreSums(): Promise<boolean> {
    const { rows } = await database.query(`
      select 1 from metering.windows
      full join (
        select account, "window", sum(charge)::bigint as charge from metering.ledger group by account, "window"
      ) sums using (account, "window")
      where windows.milli_tokens is distinct from sums.charge`)
    return rows.length === 0
  }
}
