/**
 * Totals of windows in both units, for those who judge them.
 */

import type { Queryable } from '@gateway/postgres/database'

export interface WindowName {
  account: string
  window: string
}

export interface WindowUse extends WindowName {
  milliTokens: number
  nanoUsd: number
}

const USE = `account, "window", milli_tokens as "milliTokens", nano_usd as "nanoUsd"`

export async function readUse(database: Queryable, windows: readonly WindowName[]): Promise<WindowUse[]> {
  const { rows } = await database.query<WindowUse>(
    `select ${USE} from metering.windows
     join unnest($1::text[], $2::text[]) as asked (account, "window") using (account, "window")`,
    [windows.map(({ account }) => account), windows.map(({ window }) => window)],
  )
  return rows
}

/** The accounts that come after this one and have used something in the window, a page of them. */
export async function pageOfWindow(
  database: Queryable,
  { account, window }: WindowName,
  atMost: number,
): Promise<WindowName[]> {
  const { rows } = await database.query<WindowName>(
    'select account, "window" from metering.windows where account > $1 and "window" = $2 order by account limit $3',
    [account, window, atMost],
  )
  return rows
}
