/**
 * A guest key for a device: the same one for the same device, at any number of requests at once.
 *
 * Nobody signs in for this, so a device is looked up together with others, and the transaction is behind a gate.
 * A new device counts against its network's cap, decided under the lock of the network's log. Locks are taken in one
 * order, network before device, so requests from several networks for the same device wait and never deadlock.
 */

import type { MintGuestReply, MintGuestRequest } from '@gateway/contracts/keys-api'
import type { KeysDatabase } from '../db/tables.ts'
import type { KeysContext } from '../keys-context.ts'
import { fillBeforehand, makeKey } from '../make-key.ts'
import { suspendedFor } from './developer-keys.ts'
import { hashDevice, hashNetwork } from '../core/hashing.ts'
import { newAccountTag, openKey } from '../core/new-key.ts'
import { guestPlan, planHeld, requestsPerDay } from '../core/plans.ts'
import { insertGuestAccount, lockGuestAccount, raiseVersion, type Account } from '../db/accounts.ts'
import { lockNetworkLog, writeNetworkLog } from '../db/guest-networks.ts'
import { findActiveKey, type StoredKey } from '../db/keys.ts'

type Outcome =
  | { kind: 'held'; key: StoredKey }
  | { kind: 'made'; key: StoredKey }
  | { kind: 'limited'; retryAfterMs: number }
  | { kind: 'suspended' }

export async function mintGuest(context: KeysContext, request: MintGuestRequest): Promise<MintGuestReply> {
  const { deviceId, clientNetwork } = request
  const deviceHash = hashDevice(context.pepper, deviceId)
  const device = await context.lookUps.guestDevice(deviceHash)
  if (device.key) return minted(context, device.key)
  const visit = { network: clientNetwork, isKnownDevice: device.isKnown }
  const outcome = await context.mintRateLimiter.enter(visit, () => mintNew(context, deviceHash, clientNetwork))
  if (outcome.kind === 'suspended') return suspendedFor(request)
  return 'key' in outcome ? minted(context, outcome.key) : outcome
}

function minted(context: KeysContext, key: StoredKey): MintGuestReply {
  return {
    kind: 'minted',
    key: openKey(context.masterKeys, key),
    plan: key.plan,
    rateLimitPerDay: requestsPerDay(planHeld(context.config.current.plans, key.plan)),
  }
}

async function mintNew(context: KeysContext, deviceHash: Buffer, clientNetwork: string): Promise<Outcome> {
  const networkHash = hashNetwork(context.pepper, clientNetwork)
  const outcome = await context.database
    .transaction()
    .execute((transaction) => makeGuestKey(context, transaction, deviceHash, networkHash))
  if (outcome.kind === 'made') await fillBeforehand(context, outcome.key.account)
  return outcome
}

async function makeGuestKey(
  context: KeysContext,
  transaction: KeysDatabase,
  deviceHash: Buffer,
  networkHash: Buffer,
): Promise<Outcome> {
  const log = await lockNetworkLog(transaction, networkHash)
  const known = await lockGuestAccount(transaction, deviceHash)
  if (known) return keyOfKnownDevice(context, transaction, known)

  const { slug: plan, newDevicesPerHour } = guestPlan(context.config.current.plans)
  const decision = decideGuestMint(log.mintedAtMs, log.nowMs, newDevicesPerHour)
  if (decision.kind === 'limited') return decision
  const account = await insertGuestAccount(transaction, { tag: newAccountTag(), deviceHash, plan })
  if (!account) {
    // Another network was first with this device, in the moment since we looked.
    const made = await lockGuestAccount(transaction, deviceHash)
    return keyOfKnownDevice(context, transaction, made!)
  }
  await writeNetworkLog(transaction, networkHash, decision.log)
  return { kind: 'made', key: await makeKey(context, transaction, account) }
}

/** A device whose key was revoked gets a new one, on the same account with its plan, quota status and history. */
async function keyOfKnownDevice(context: KeysContext, transaction: KeysDatabase, account: Account): Promise<Outcome> {
  const held = await findActiveKey(transaction, account.tag)
  if (held) return { kind: 'held', key: held }
  if (account.suspendedAt) return { kind: 'suspended' }
  const version = await raiseVersion(transaction, account.tag)
  return { kind: 'made', key: await makeKey(context, transaction, { ...account, version }) }
}

const HOUR_MS = 3_600_000

type GuestCapDecision = { kind: 'admitted'; log: number[] } | { kind: 'limited'; retryAfterMs: number }

/** In any hour, exactly. `log`: the times of the mints that were let through, oldest first, never more than the cap. */
export function decideGuestMint(log: readonly number[], nowMs: number, perHour: number): GuestCapDecision {
  const recent = log.filter((mintedAtMs) => mintedAtMs > nowMs - HOUR_MS)
  const inTheWay = recent[recent.length - perHour]
  if (inTheWay === undefined) return { kind: 'admitted', log: [...recent, nowMs] }
  return { kind: 'limited', retryAfterMs: inTheWay + HOUR_MS - nowMs }
}
