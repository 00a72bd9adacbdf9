/**
 * Makes a committed change known: a tombstone for a dead key in the admission store, word to every edge, the account's
 * present facts in the store. The caller's reply waits for it, because a reply promises that the change holds.
 *
 * Should the store stay away, or this process die, the change is still in the outbox: whichever process gets to it first
 * announces it, at its start and every second. Announcing twice, late or out of order does no harm.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { KeysAdmission } from '@gateway/admission/keys'
import type { Bus } from '@gateway/bus/port'
import type { KeysInvalidated } from '@gateway/contracts/developer-keys-api'
import { GatewayError } from '@gateway/contracts/errors'
import { subjects } from '@gateway/contracts/subjects'
import type { Database } from '@gateway/postgres/database'
import type { ConfigSource } from '@gateway/service/config-source'
import { failpoint } from '@gateway/service/failpoint'
import type { Logger } from '@gateway/service/logger'
import { unitOf } from './core/plans.ts'
import { forgetChange, lockLeftChange, type Change } from './db/outbox.ts'
import { fillAdmission } from './fill-admission.ts'

export interface Announcer extends AsyncDisposable {
  /** Resolves when the change is known everywhere; rejects when that takes too long, and goes on in the background. */
  announce(change: Change): Promise<void>
}

export interface AnnouncerParts {
  bus: Bus
  admission: KeysAdmission
  database: Database
  config: ConfigSource
  logger: Logger
}

/** Below the five seconds that an edge waits for this service. */
const GIVE_UP_AFTER_MS = 3_000
const FIRST_PAUSE_MS = 50
const LOOK_EVERY_MS = 1_000
const METERING_TIMEOUT_MS = 2_000

export function startAnnouncer(parts: AnnouncerParts): Announcer {
  const stopping = new AbortController()
  const announcing = announceWhatIsLeft(parts, stopping.signal)
  return {
    async announce(change) {
      failpoint('keys.change-committed')
      await deliverInTime(parts, change)
      failpoint('keys.change-announced')
      await forgetChange(parts.database, change)
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await announcing
    },
  }
}

async function deliverInTime(parts: AnnouncerParts, change: Change): Promise<void> {
  const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
    try {
      return await deliver(parts, change)
    } catch (cause) {
      if (performance.now() + pauseMs > giveUpAtMs) {
        const message = 'The change is stored and will hold soon; ask again to be certain'
        throw new GatewayError('SERVICE_UNAVAILABLE', message, {}, { cause })
      }
      await sleep(pauseMs)
    }
  }
}

async function deliver(parts: AnnouncerParts, { account: tag, reason, deadKey }: Change): Promise<void> {
  if (deadKey && (reason === 'rotated' || reason === 'revoked')) {
    const { keyId, version } = deadKey
    const keyHash = Buffer.from(deadKey.hash).toString('base64url')
    await parts.admission.deactivate({ account: tag, keyHash, version })
    failpoint('keys.tombstone-written')
    const word: KeysInvalidated = { account: tag, keyHash, keyId, reason }
    parts.bus.broadcast(subjects.keysInvalidated, Buffer.from(JSON.stringify(word)))
  }
  const account = await fillAdmission(parts, tag)
  if (reason === 'plan' && account) await tellMetering(parts, tag, account.plan)
}

/** The store's total must be in the unit of the new plan before a request is measured against its limit. */
async function tellMetering({ bus, config }: AnnouncerParts, account: string, plan: string): Promise<void> {
  const question = { account, unit: unitOf(config.current.plans, plan) }
  await bus.request(subjects.meteringWarm, Buffer.from(JSON.stringify(question)), { timeoutMs: METERING_TIMEOUT_MS })
}

async function announceWhatIsLeft(parts: AnnouncerParts, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const announced = await announceOne(parts).catch((error: unknown) => {
      parts.logger.warn({ err: error }, 'a change that was left in the outbox could not be announced')
      return false
    })
    if (!announced) await sleep(LOOK_EVERY_MS, undefined, { signal: stopping }).catch(() => {})
  }
}

/** Leaves alone what is so new that the handler that made it is announcing it. */
function announceOne(parts: AnnouncerParts): Promise<boolean> {
  return parts.database.transaction(async (transaction) => {
    const change = await lockLeftChange(transaction, GIVE_UP_AFTER_MS)
    if (!change) return false
    await deliver(parts, change)
    await forgetChange(transaction, change)
    return true
  })
}
