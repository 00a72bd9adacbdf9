/**
 * The edge's calls to keys, metering and routers. A silent service is a 503 for the client, never a hang.
 *
 * The bus repeats a call while a service restarts, and a repeatable call also while its replies fail or do not come. One
 * process of the service may be frozen, or lost with its host.
 */

import type { Bus } from '@gateway/bus/port'
import type { CallOrigin } from '@gateway/contracts/administration/envelope'
import type { FindSessionReply, FindSessionRequest, KeyOwner } from '@gateway/contracts/developer-keys-api'
import { GatewayError } from '@gateway/contracts/errors'
import { type RequestedBy, type Read, procedures, type Written } from '@gateway/contracts/bus-roles'
import { rpcClient } from '@gateway/rpc/client'
import { keepFigures } from './cached-figures.ts'

export type KeysClient = ReturnType<typeof createKeysClient>

export function createKeysClient(bus: Bus) {
  const callOf = callsOn(bus)
  const fill = callOf('keysFill')
  const findSession = callOf('keysFindSession')
  const read = callOf('keysAdminister', true)
  const change = callOf('keysAdminister')
  return {
    /** Requests of one key that miss at once are filled by one call. */
    fill: shareCalls(({ account, keyHash }) => `${account} ${keyHash}`, fill),
    /** Straight from keys' own database: for while the admission store is away. */
    lookUp: callOf('keysLookUp'),
    findSession,
    findAccount: callOf('keysFindAccount'),
    mintGuest: callOf('keysMintGuest'),
    mint: callOf('keysMint'),
    rotate: endsKey(findSession, callOf('keysRotate')),
    revoke: endsKey(findSession, callOf('keysRevoke')),
    list: callOf('keysList'),
    /** A call that only reads may be served twice. */
    administer: (question: Written<'keysAdminister', 'request'>, isRead: boolean) => (isRead ? read : change)(question),
    responseSecrets: callOf('keysAnswerSecrets'),
    receiptSecrets: callOf('keysReceiptSecrets'),
  }
}

/** Each fails only when a mint falls into the moment between the two steps. */
const TRIES = 5

interface Ending {
  owner: KeyOwner
  keyHash: string
  /** For the audit log. */
  origin?: CallOrigin | undefined
}

/**
 * Rotates or revokes a key in two steps. The first gets a ticket, the second ends the key under it. A mint that returns the
 * key in between voids the ticket.
 *
 * So a message that is still on its way when its client is refused ends no key that a later mint returns. This client has
 * not been refused yet: where a mint came in between, the edge takes another ticket.
 */
export function endsKey<Reply extends { kind: string; isLate?: boolean | undefined }>(
  findSession: (question: FindSessionRequest) => Promise<FindSessionReply>,
  end: (question: Ending & { ticket?: string | undefined }) => Promise<Reply>,
): (question: Ending) => Promise<Reply> {
  return async ({ owner, keyHash, origin }) => {
    for (let tries = 0; tries < TRIES; tries++) {
      const session = await findSession({ owner, toEnd: keyHash })
      const ticket = session.kind === 'found' ? session.ticket : undefined
      const reply = await end({ owner, keyHash, ...(ticket !== undefined && { ticket }), ...(origin && { origin }) })
      if (!reply.isLate) return reply
    }
    throw new GatewayError('SERVICE_UNAVAILABLE', 'The key is being minted again and again; try again shortly')
  }
}

export type MeteringClient = ReturnType<typeof createMeteringClient>

export function createMeteringClient(bus: Bus) {
  const callOf = callsOn(bus)
  const warmTogether = shareCalls(
    ({ account, keyId = '' }: { account: string; keyId?: string }) => `${account} ${keyId}`,
    callOf('meteringWarm'),
  )
  return {
    /**
     * Writes the account's window total, and that of a project's key, into the admission store. One call serves all requests that
     * find it cold at once.
     */
    warm: (account: string, keyId?: string) => warmTogether(keyId === undefined ? { account } : { account, keyId }),
    quota: callOf('meteringQuota'),
    usage: callOf('meteringAccountUsage'),
    administer: callOf('meteringAdminister'),
  }
}

/** Longer than a router takes. */
const COUNT_TIMEOUT_MS = 2_500

export function createRoutersClient(bus: Bus) {
  const edge = rpcClient('edge', bus)
  return {
    countTokens: (question: Written<'routersCountTokens', 'request'>) =>
      edge.request('routersCountTokens', question, { timeoutMs: COUNT_TIMEOUT_MS }),
  }
}

export type OperatorClient = ReturnType<typeof createOperatorClient>

/** For administrators: the figures and states of other services. */
export function createOperatorClient(bus: Bus) {
  const callOf = callsOn(bus)
  return {
    showRouters: callOf('routersShow'),
    overview: callOf('meteringOverview'),
    usageOfAccount: callOf('meteringAccountUsage'),
    usageByAccount: callOf('meteringUsageByAccount'),
    reconcileKeys: callOf('keysReconcile'),
    reconcileTotals: callOf('meteringReconcile'),
  }
}

export type LedgerFigures = ReturnType<typeof openLedgerFigures>

/** For an account's owner. Admission calls the ledger itself. */
export function openLedgerFigures(metering: Pick<MeteringClient, 'quota' | 'usage'>) {
  const quota = keepFigures(metering.quota)
  const usage = keepFigures(metering.usage)
  return {
    quota: quota.read,
    usage: usage.read,
    ended(account: string): void {
      quota.ended(account)
      usage.ended(account)
    },
  }
}

const REQUEST_TIMEOUT_MS = 5_000
const FAILURE_PASSES_WITHIN_MS = 2_000
/** Longer than a busy service takes. */
const SILENT_FOR_MS = 1_000

type Call<Name extends RequestedBy<'edge'>> = (question: Written<Name, 'request'>) => Promise<Read<Name, 'reply'>>

/** Returns a function that makes the call of each procedure. */
export function callsOn(
  bus: Bus,
): <Name extends RequestedBy<'edge'>>(name: Name, isRepeatable?: boolean) => Call<Name> {
  const edge = rpcClient('edge', bus)
  return (name, isRepeatable = procedures[name].isRepeatable) =>
    async (question) => {
      const timeoutPolicy = isRepeatable ? { failingForMs: FAILURE_PASSES_WITHIN_MS, silentForMs: SILENT_FOR_MS } : {}
      try {
        return await edge.request(name, question, {
          timeoutMs: REQUEST_TIMEOUT_MS,
          absentForMs: REQUEST_TIMEOUT_MS,
          ...timeoutPolicy,
        })
      } catch (cause) {
        const message = 'A part of the gateway does not answer; try again shortly'
        throw new GatewayError('SERVICE_UNAVAILABLE', message, {}, { cause })
      }
    }
}

/**
 * Callers with the same request share the reply of a call under way. For calls whose reply is the same for all callers until it
 * comes; nothing is cached after that.
 *
 * A failure is another matter: the call may have used up its time before a late caller came. So callers that joined a failed
 * call make one more call together, and share its reply or failure.
 */
export function shareCalls<Request, Reply>(
  nameOf: (request: Request) => string,
  call: (request: Request) => Promise<Reply>,
): (request: Request) => Promise<Reply> {
  const underWay = new Map<string, Promise<Reply>>()

  function begin(name: string, request: Request): Promise<Reply> {
    const reply = call(request).finally(() => underWay.delete(name))
    underWay.set(name, reply)
    return reply
  }

  return (request) => {
    const name = nameOf(request)
    const joined = underWay.get(name)
    if (!joined) return begin(name, request)
    return joined.catch(() => underWay.get(name) ?? begin(name, request))
  }
}
