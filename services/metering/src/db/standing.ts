/**
 * Totals of windows in both units, for those who judge them.
 */

import type { MeteringDatabase } from './tables.ts'
import { windowsNamed, type WindowName } from './windows.ts'

export interface WindowUse extends WindowName {
  milliTokens: number
  nanoUsd: number
}

export function readUse(database: MeteringDatabase, windows: readonly WindowName[]): Promise<WindowUse[]> {
  return windowsNamed(database, windows)
    .select(['held.account', 'held.window', 'milli_tokens as milliTokens', 'nano_usd as nanoUsd'])
    .execute()
}

/** The accounts that come after this one and have used something in the window, a page of them. */
export function pageOfWindow(
  database: MeteringDatabase,
  { account, window }: WindowName,
  atMost: number,
): Promise<WindowName[]> {
  return database
    .selectFrom('metering.windows')
    .select(['account', 'window'])
    .where('account', '>', account)
    .where('window', '=', window)
    .orderBy('account')
    .limit(atMost)
    .execute()
}
