/**
 * Announces a committed change: a tombstone for a dead key in the admission store, a message to every edge, the
 * account's state in the store. The caller's reply waits for it, because a reply promises that the change holds.
 *
 * If the store stays away, or this process dies, the change is still in the outbox. Any process announces it, at its
 * start, and when a look finds it (`due-work.ts`). Announcing twice or late does no harm.
 *
 * The changes of an account are announced in order, and a failing one holds up no other account. A revocation has a
 * lane of its own and waits for no other change. It is known once tombstone and message are out. The account's state
 * may follow later.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { KeysAdmission } from '@gateway/admission/port'
import type { Bus } from '@gateway/bus/port'
import { GatewayError } from '@gateway/contracts/errors'
import type { ConfigSource } from '@gateway/config/config-source'
import { failpoint } from '@gateway/service/failpoint'
import type { Logger } from '@gateway/telemetry/logger'
import { rpcClient } from '@gateway/rpc/client'
import {
  type Change,
  type Lane,
  type LeftChange,
  type OutboxName,
  OUTBOXES,
  claimLeftChanges,
  firstChangeUpTo,
  forgetChange,
  laneOf,
  leaveFactsOf,
  pauseMs,
  postponeChange,
} from './db/outbox.ts'
import type { DueWork } from './due-work.ts'
import { unitOf } from './core/plans.ts'
import { readHeldPlans } from './db/account-state.ts'
import type { KeysDatabase } from './db/tables.ts'
import { fillAdmission } from './fill-admission.ts'
import { openDeadKeyPublisher, type DeadKeyPublisher } from './publish-revocations.ts'

export interface Announcer extends AsyncDisposable {
  /** Resolves when the change is known everywhere; rejects when that takes too long, and goes on in the background. */
  announce(change: Change): Promise<void>
}

interface AnnouncerOptions {
  bus: Bus
  admission: KeysAdmission
  database: KeysDatabase
  /** For revocations. */
  urgent: KeysDatabase
  dueWork: DueWork
  config: ConfigSource
  logger: Logger
}

interface AnnouncerParts extends AnnouncerOptions {
  deadKeys: DeadKeyPublisher
}

/** Below the five seconds that an edge waits for this service. */
const GIVE_UP_AFTER_MS = 3_000
const FIRST_PAUSE_MS = 50
/** While some of the remaining changes are being announced. */
const LOOK_EVERY_MS = 1_000
const METERING_TIMEOUT_MS = 2_000
/** The longest wait of a revocation's reply for the account's state. */
const FACTS_WITHIN_MS = 250
/** A process that has died with a change leaves it to others for so long. */
const LEASE_MS = 5_000
/** Changes that a process announces at once: those of accounts take connections of the common pool. */
const AT_ONCE: Record<Lane, number> = { revocation: 8, account: 4 }

interface Pace {
  lookEveryMs: number
  pauseMs: typeof pauseMs
}
const PACE: Pace = { lookEveryMs: LOOK_EVERY_MS, pauseMs }

export function startAnnouncer(options: AnnouncerOptions, pace: Pace = PACE): Announcer {
  const parts = { ...options, deadKeys: openDeadKeyPublisher(options.bus) }
  const stopping = new AbortController()
  const lanes = (['revocation', 'account'] as const).map((lane) =>
    announceWhatIsLeft({ parts, lane, pace, stopping: stopping.signal }),
  )
  return {
    async announce(change) {
      failpoint('keys.change-committed')
      await deliverInTime(parts, change)
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await Promise.all(lanes)
      parts.deadKeys[Symbol.dispose]()
    },
  }
}

async function deliverInTime(parts: AnnouncerParts, change: Change): Promise<void> {
  const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS
  for (let pause = FIRST_PAUSE_MS; ; pause *= 2) {
    try {
      return await deliverInTurn(parts, change)
    } catch (cause) {
      if (performance.now() + pause > giveUpAtMs) {
        const message = 'The change is stored and will hold soon; ask again to be certain'
        throw new GatewayError('SERVICE_UNAVAILABLE', message, {}, { cause })
      }
      await sleep(pause)
    }
  }
}

/** A change of an account waits for the older ones, which it announces itself. Another process may have announced all. */
async function deliverInTurn(parts: AnnouncerParts, change: Change): Promise<void> {
  if (laneOf(change) === 'revocation') return deliver(parts, change)
  for (;;) {
    const next = await firstChangeUpTo(parts.database, change)
    if (!next) return
    await deliver(parts, next)
  }
}

/** Announces the change and forgets it. */
async function deliver(parts: AnnouncerParts, change: Change): Promise<void> {
  if (laneOf(change) === 'revocation') await revoke(parts, change)
  else await notifyAccount(parts, change)
}

async function revoke(parts: AnnouncerParts, change: Change): Promise<void> {
  if (change.reason === 'suspended') return suspend(parts, change)
  await bury(parts, change)
  const filled = fillAdmission(parts, change.account, hashesOf(change)).then(
    () => true,
    (error: unknown) => {
      parts.logger.warn({ err: error, account: change.account }, 'a key is dead, but its account could not be told')
      return false
    },
  )
  const isFilled = await Promise.race([filled, sleep(FACTS_WITHIN_MS, false, { ref: false })])
  failpoint('keys.change-announced')
  // The key is dead all the same. Another process finds the note when its lease is over.
  await (isFilled ? forgetChange : leaveFactsOf)(parts.urgent, change).catch((error: unknown) => {
    parts.logger.warn({ err: error, id: change.id }, 'a revocation is announced, but its note could not be taken away')
  })
}

const hashesOf = ({ changedKeys }: Change): Buffer[] => changedKeys.map(({ hash }) => hash)

/** No tombstone: it would outlive the suspension. The keys are dead at a version, and alive again at a later one. */
async function suspend(parts: AnnouncerParts, change: Change): Promise<void> {
  const { account, changedKeys } = change
  await fillAdmission(parts, account, hashesOf(change))
  failpoint('keys.tombstone-written')
  for (const { keyId, hash, version } of changedKeys) {
    const keyHash = hash.toString('base64url')
    parts.deadKeys.publish({ account, keyHash, keyId, reason: 'suspended', version })
  }
  failpoint('keys.change-announced')
  await forgetChange(parts.urgent, change)
}

async function bury(parts: AnnouncerParts, change: Change): Promise<void> {
  const { account, reason, deadKeys } = change
  const dead = deadKeys.map(({ keyId, hash, version }) => {
    return { account, keyHash: Buffer.from(hash).toString('base64url'), keyId, version }
  })
  if (reason === 'archived') {
    await parts.admission.closeAccount({ account, version: change.version! })
  } else
    await Promise.all(dead.map(({ keyHash, version }) => parts.admission.deactivate({ account, keyHash, version })))
  failpoint('keys.tombstone-written')
  const why = reason === 'rotated' ? 'rotated' : 'revoked'
  for (const { keyHash, keyId } of dead) parts.deadKeys.publish({ account, keyHash, keyId, reason: why })
}

async function notifyAccount(parts: AnnouncerParts, change: Change): Promise<void> {
  if (change.reason === 'plan') await notifyMetering(parts, change.account)
  await fillAdmission(parts, change.account, hashesOf(change))
  failpoint('keys.change-announced')
  await forgetChange(parts.database, change)
}

/**
 * The store's total must be in the unit of the new plan before a request is measured against its limit. So the former plan
 * holds while metering is away: dollars that were spent would else use up an allowance of tokens.
 */
async function notifyMetering({ bus, config, database }: AnnouncerParts, account: string): Promise<void> {
  const [held] = await readHeldPlans(database, [account])
  if (!held) return
  const { plan, version } = held
  const question = { account, unit: unitOf(config.current.plans, plan), planVersion: version }
  await rpcClient('keys', bus).request('meteringWarm', question, { timeoutMs: METERING_TIMEOUT_MS })
}

interface Rest {
  parts: AnnouncerParts
  lane: Lane
  pace: Pace
  stopping: AbortSignal
}

/** Announces the remaining changes, several at once, so that a slow one holds up only itself. */
async function announceWhatIsLeft(rest: Rest): Promise<void> {
  const { parts, lane, pace, stopping } = rest
  const announcing = new Map<string, { outbox: OutboxName; id: number; delivery: Promise<void> }>()
  const deliveries = () => [...announcing.values()].map(({ delivery }) => delivery)
  const database = connectionsOf(parts, lane)
  const claimFrom = async (outbox: OutboxName) => {
    const atMost = AT_ONCE[lane] - announcing.size
    if (atMost === 0) return 0
    const except = [...announcing.values()].filter((one) => one.outbox === outbox).map(({ id }) => id)
    const claimed = await claimLeftChanges(database, outbox, { lane, atMost, leaseMs: LEASE_MS, except })
    for (const change of claimed) {
      const name = `${outbox} ${change.id}`
      const delivery = deliverOrPostpone(parts, change, pace).finally(() => announcing.delete(name))
      announcing.set(name, { ...change, delivery })
    }
    return claimed.length
  }
  let first = 0
  // Each goes first in turn, so that neither takes all places.
  const claim = async () => {
    first = 1 - first
    return (await claimFrom(OUTBOXES[first]!)) + (await claimFrom(OUTBOXES[1 - first]!))
  }
  while (!stopping.aborted) {
    const claimed = await claim().catch((error: unknown) => {
      parts.logger.warn({ err: error }, 'the outbox could not be read')
      return 0
    })
    const isFull = announcing.size === AT_ONCE[lane]
    // Where one of them ends, a later change of its account is due.
    if (isFull) await Promise.race(deliveries())
    else if (claimed === 0) await parts.dueWork.found('changes', stopping)
    else {
      const awake = new AbortController()
      const signal = AbortSignal.any([stopping, awake.signal])
      await Promise.race([...deliveries(), sleep(pace.lookEveryMs, undefined, { signal }).catch(() => {})])
      awake.abort()
    }
  }
  await Promise.all(deliveries())
}

function connectionsOf({ database, urgent }: AnnouncerParts, lane: Lane): KeysDatabase {
  return lane === 'revocation' ? urgent : database
}

async function deliverOrPostpone(parts: AnnouncerParts, change: LeftChange, pace: Pace): Promise<void> {
  try {
    await deliver(parts, change)
  } catch (error) {
    const { id, account, reason } = change
    const attempts = change.attempts + 1
    const pause = pace.pauseMs(laneOf(change), attempts)
    parts.logger.warn({ err: error, id, account, reason, attempts, pauseMs: pause }, 'a change pauses in the outbox')
    // When even that fails, the change is due again after its lease.
    await postponeChange(connectionsOf(parts, laneOf(change)), change, pause).catch(() => {})
  }
}
