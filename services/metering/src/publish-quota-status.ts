/**
 * Publishes to the keys service the last use of keys, and the accounts' totals some seconds after they moved. Keys knows the
 * allowances, and notices accounts that have passed 80 % or 100 %.
 *
 * On a key's use nothing depends, so it is a broadcast: a listener that is away misses a minute and holds up nobody.
 *
 * Only this process notes the moved totals, which costs the ledger nothing. It publishes every total of the month at the start
 * and every hour, so a killed process loses none. It reads a total just before it publishes it, and a second delivery does no
 * harm. While keys is away, totals wait here.
 */

import { monthOf } from '@gateway/admission/month'
import type { Bus } from '@gateway/bus/port'
import { rpcClient } from '@gateway/rpc/client'
import type { RecordQuotaStatusRequest } from '@gateway/contracts/quota-status'
import type { Logger } from '@gateway/telemetry/logger'
import { repeat } from '@gateway/service/repeat'
import { type Report, windowKey } from './core/reports.ts'
import { pageOfWindow, readUse, type WindowName } from './db/windows.ts'
import type { MeteringDatabase } from './db/tables.ts'

export interface KeyUse {
  /** Once a minute for each key at the most. */
  record(reports: readonly Report[]): void
}

const MINUTE_MS = 60_000

export function createKeyUse(bus: Bus, now: () => number = Date.now): KeyUse {
  const metering = rpcClient('metering', bus)
  let minute = 0
  let reported = new Set<string>()

  return {
    record(reports) {
      const thisMinute = Math.floor(now() / MINUTE_MS)
      if (thisMinute !== minute) reported = new Set()
      minute = thisMinute
      const uses = new Map<string, number>()
      for (const { event } of reports) {
        if (!reported.has(event.keyId)) uses.set(event.keyId, Math.max(event.endedAtMs, uses.get(event.keyId) ?? 0))
      }
      if (uses.size === 0) return
      for (const keyId of uses.keys()) reported.add(keyId)
      metering.publish('keysUsed', { uses: [...uses].map(([keyId, usedAtMs]) => ({ keyId, usedAtMs })) })
    },
  }
}

export interface QuotaStatusPublisher {
  /** These totals moved, or keys must judge them again. */
  moved(windows: readonly WindowName[]): void
}

const PAUSE_MS = 5_000
const EVERYTHING_EVERY_MS = 3_600_000
const TOTALS_AT_A_TIME = 500
const TIMEOUT_MS = 10_000

export function startQuotaStatusPublisher(parts: {
  bus: Bus
  database: MeteringDatabase
  logger: Logger
  now?: () => number
}): QuotaStatusPublisher & AsyncDisposable {
  const { bus, database, logger, now = Date.now } = parts
  const unreported = new Map<string, WindowName>()
  let nextRoundAtMs = -Infinity

  const moved = (windows: readonly WindowName[]): void => {
    for (const { account, window } of windows) unreported.set(windowKey({ account, window }), { account, window })
  }

  /** In pages: it publishes each before it reads the next. */
  async function noteEveryTotal(stopping: AbortSignal): Promise<void> {
    const { window } = monthOf(now())
    let page: WindowName[] = [{ account: '', window }]
    while (!stopping.aborted && page.length > 0) {
      page = await pageOfWindow(database, page.at(-1)!, TOTALS_AT_A_TIME)
      moved(page)
      while (unreported.size > 0) await publishSome()
    }
    nextRoundAtMs = performance.now() + EVERYTHING_EVERY_MS
  }

  /** It publishes a total again that moves meanwhile. */
  async function publishSome(): Promise<void> {
    const some = [...unreported.values().take(TOTALS_AT_A_TIME)]
    for (const name of some) unreported.delete(windowKey(name))
    try {
      await publish(await readUse(database, some))
    } catch (error) {
      moved(some)
      throw error
    }
  }

  async function publish(totals: RecordQuotaStatusRequest['totals']): Promise<void> {
    if (totals.length === 0) return
    await rpcClient('metering', bus).request('keysNoteStanding', { totals }, { timeoutMs: TIMEOUT_MS })
  }

  let away = false
  const reporting = repeat(async (stopping) => {
    try {
      if (performance.now() >= nextRoundAtMs) await noteEveryTotal(stopping)
      while (!stopping.aborted && unreported.size > 0) await publishSome()
      if (away) logger.info('keys takes the standing of accounts again')
      away = false
    } catch (error) {
      if (!away) logger.warn({ err: error }, 'the standing of accounts could not be told; it will be')
      away = true
    }
    return PAUSE_MS
  })
  return { moved, [Symbol.asyncDispose]: () => reporting[Symbol.asyncDispose]() }
}
