/**
 * Idempotency in Redis: the store that all edges share.
 *
 * Each call is one script on the keys of one account, decided by Redis' own clock. The connection is its own, beside
 * admission's, so that an answer of a megabyte on its way delays no admission.
 */

import { connectTo } from '@gateway/redis/connect'
import type { ScriptConnection } from '@gateway/redis/connection'
import { composeScript, type Script } from '@gateway/redis/script'
import type { Claim, ClaimAnswer, IdempotencyStore } from './port.ts'
import { IdempotencyUnavailableError } from './unavailable.ts'

const RENEW_AT_ONCE = 200

const SCRIPTS = {
  claim: script('claim'),
  renew: script('renew'),
  keep: script('keep'),
  settle: script('settle'),
  release: script('release'),
}

export interface RedisIdempotencyOptions {
  /** Of a server, or of several nodes of a Redis Cluster, separated by commas. */
  url: string
  /** A call without an answer rejects after this long, or after four times as long where it waits behind others. */
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
      return readClaimAnswer(await run(SCRIPTS.claim, claim.account, [claim.name], [...heldBy(claim), leaseMs, after]))
    },

    renew: async (claims, leaseMs) => {
      const lost = await Promise.all(
        portionsByAccount(claims).map(([account, portion]) => {
          const names = portion.map(({ name }) => name)
          return run(SCRIPTS.renew, account, names, [leaseMs, ...portion.flatMap(heldBy)])
        }),
      )
      return lost.flat().map(String)
    },

    keep: async (claim, answer, { forMs, accountBytes }) => {
      const args = [
        ...heldBy(claim),
        Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength),
        forMs,
        accountBytes,
      ]
      return (await run(SCRIPTS.keep, claim.account, [claim.name], args)) === 1
    },

    settle: async (held) => {
      await run(SCRIPTS.settle, held.account, [held.name], [held.requestId])
    },

    release: async (held) => {
      await run(SCRIPTS.release, held.account, [held.name], [held.requestId])
    },

    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  }
}

function script(name: string): Script {
  return composeScript(new URL('./lua/', import.meta.url), ['prelude', name])
}

function runner(connection: ScriptConnection, now: (() => number) | undefined) {
  return (called: Script, account: string, names: string[], args: (string | number | Buffer)[]) =>
    connection.run(called, keysOf(account, names), [now ? now() : '', ...args])
}

/** All lie in the slot of the tag. */
function keysOf(account: string, names: string[]): string[] {
  const tag = `idem:{${account}}:`
  return [`${tag}kept`, `${tag}bytes`, ...names.map((name) => `${tag}key:${name}`)]
}

function heldBy({ requestId, owner, fingerprint }: Claim): string[] {
  return [requestId, owner, fingerprint]
}

/** Calls that touch one account each, and keep Redis from others only shortly. */
function portionsByAccount(claims: Claim[]): [account: string, portion: Claim[]][] {
  return [...Map.groupBy(claims, ({ account }) => account)].flatMap(([account, held]) => {
    const starts = Array.from({ length: Math.ceil(held.length / RENEW_AT_ONCE) }, (_, index) => index * RENEW_AT_ONCE)
    return starts.map((start): [string, Claim[]] => [account, held.slice(start, start + RENEW_AT_ONCE)])
  })
}

type ClaimReply =
  | [kind: Buffer]
  | [kind: Buffer, fingerprint: Buffer, requestId: Buffer, ownerOrAnswer: Buffer, lapsedOrSettled: number]

function readClaimAnswer(reply: unknown): ClaimAnswer {
  const [kind, ...rest] = reply as ClaimReply
  if (rest.length === 0) return { kind: 'claimed' }
  const [fingerprint, requestId, ownerOrAnswer, flag] = rest
  const request = { fingerprint: String(fingerprint), requestId: String(requestId) }
  if (String(kind) === 'running') {
    return { kind: 'running', ...request, owner: String(ownerOrAnswer), lapsed: flag === 1 }
  }
  return { kind: 'kept', ...request, answer: ownerOrAnswer, settled: flag === 1 }
}
