/**
 * Idempotency in Redis: the store that all edges share.
 *
 * Each call is one script on the keys of one account, decided by Redis' own clock. The connection is its own, beside
 * admission's, so that a response of a megabyte on its way delays no admission.
 */

import { connectTo } from '@gateway/redis/connect'
import type { ScriptConnection } from '@gateway/redis/connection'
import { argumentsOf, composeScript, portionsByAccount, type Argument, type Script } from '@gateway/redis/script'
import { type Claim, type ClaimResult, type IdempotencyStore, IdempotencyUnavailableError } from './port.ts'

const RENEW_AT_ONCE = 200

const LUA = new URL('./lua/', import.meta.url)
const HELD = ['request', 'owner', 'fingerprint'] as const

/** With the names of their arguments. `after`: the request whose lapsed claim may be taken over, or empty. */
const SCRIPTS = {
  claim: composeScript(LUA, ['prelude', 'claim'], { once: [...HELD, 'leaseMs', 'after'] }),
  renew: composeScript(LUA, ['prelude', 'renew'], { once: ['leaseMs'], each: HELD }),
  keep: composeScript(LUA, ['prelude', 'keep'], { once: [...HELD, 'response', 'forMs', 'accountBytes'] }),
  settle: composeScript(LUA, ['prelude', 'settle'], { once: ['request'] }),
  release: composeScript(LUA, ['prelude', 'release'], { once: ['request'] }),
}

interface RedisIdempotencyOptions {
  /** The address of a server, or of several nodes of a Redis Cluster, separated by commas. */
  url: string
  /** A call without a reply rejects after this time, or after four times as long where it waits behind others. */
  timeoutMs?: number
  /** For tests: stands in for Redis' own clock. */
  now?: () => number
}

/** Resolves when connected, or after two seconds without Redis; then calls reject until it is there. */
export async function openRedisIdempotency({
  url,
  timeoutMs = 250,
  now,
}: RedisIdempotencyOptions): Promise<IdempotencyStore> {
  const connection = await connectTo({
    url,
    timeoutMs,
    store: 'idempotency',
    Unavailable: IdempotencyUnavailableError,
    scripts: Object.values(SCRIPTS),
    binary: true,
  })
  const run = runner(connection, now)

  return {
    claim: async (claim, { leaseMs, after = '' }) => {
      const args = argumentsOf(SCRIPTS.claim, { ...heldBy(claim), leaseMs, after })
      return readClaimResult(await run(SCRIPTS.claim, claim.account, [claim.name], args))
    },

    renew: async (claims, leaseMs) => {
      const lost = await Promise.all(
        portionsByAccount(claims, RENEW_AT_ONCE).map(([account, portion]) => {
          const names = portion.map(({ name }) => name)
          return run(SCRIPTS.renew, account, names, argumentsOf(SCRIPTS.renew, { leaseMs }, portion.map(heldBy)))
        }),
      )
      return lost.flat().map(String)
    },

    keep: async (claim, response, { forMs, accountBytes }) => {
      const bytes = Buffer.from(response.buffer, response.byteOffset, response.byteLength)
      const args = argumentsOf(SCRIPTS.keep, { ...heldBy(claim), response: bytes, forMs, accountBytes })
      return (await run(SCRIPTS.keep, claim.account, [claim.name], args)) === 1
    },

    settle: async (held) => {
      await run(SCRIPTS.settle, held.account, [held.name], argumentsOf(SCRIPTS.settle, { request: held.requestId }))
    },

    release: async (held) => {
      await run(SCRIPTS.release, held.account, [held.name], argumentsOf(SCRIPTS.release, { request: held.requestId }))
    },

    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  }
}

function runner(connection: ScriptConnection, now: (() => number) | undefined) {
  return (called: Script, account: string, names: string[], args: Argument[]) =>
    connection.run(called, keysOf(account, names), [now ? now() : '', ...args])
}

/** All lie in the slot of the tag. */
function keysOf(account: string, names: string[]): string[] {
  const tag = `idem:{${account}}:`
  return [`${tag}kept`, `${tag}bytes`, ...names.map((name) => `${tag}key:${name}`)]
}

function heldBy({ requestId, owner, fingerprint }: Claim) {
  return { request: requestId, owner, fingerprint }
}

type ClaimReply =
  | [kind: Buffer]
  | [kind: Buffer, fingerprint: Buffer, requestId: Buffer, ownerOrResponse: Buffer, lapsedOrSettled: number]

function readClaimResult(reply: unknown): ClaimResult {
  const [kind, ...rest] = reply as ClaimReply
  if (rest.length === 0) return { kind: 'claimed' }
  const [fingerprint, requestId, ownerOrResponse, flag] = rest
  const request = { fingerprint: String(fingerprint), requestId: String(requestId) }
  if (String(kind) === 'running') {
    return { kind: 'running', ...request, owner: String(ownerOrResponse), lapsed: flag === 1 }
  }
  return { kind: 'kept', ...request, response: ownerOrResponse, settled: flag === 1 }
}
