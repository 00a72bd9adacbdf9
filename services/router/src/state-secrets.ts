/**
 * The secrets that seal state for clients. The router fetches them from keys before any request needs them, since keys may be away then.
 * It fetches them again from time to time. After a rotation it would else seal under a secret that keys is about to forget.
 *
 * No request fails for them. Where keys does not reply, responses go without their state, and the router tries again from time to time.
 * A token under a key that the router does not know makes it fetch once more, at most once a second for all requests.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '@gateway/bus/port'
import type { SealingKeys } from '@gateway/sealing/sealing'
import { rpcClient } from '@gateway/rpc/client'
import type { Logger } from '@gateway/telemetry/logger'
import { AccountSeal, deriveStateKeys } from './core/state-seal.ts'

const WITHIN_MS = 1_000
/** Another process of keys may reply where the first one is frozen. */
const SILENT_MS = 400
const AGAIN_AFTER_FAILURE_MS = 5_000
const AGAIN_AFTER_SUCCESS_MS = 1_000
const AHEAD_EVERY_MS = 1_000
/** A step of a rotation takes longer. */
const RENEW_EVERY_MS = 30_000

export interface StateSecrets {
  /** The state of one job's account. */
  sealFor(account: string): AccountSeal
  /** A target's response may need a seal: returns a promise only where this is the first such request. */
  prepare(): Promise<void> | undefined
  /** Fetches the secrets again for a request with a token under an unknown key. */
  refresh(): Promise<void>
  /** Tries until the router has the secrets, and then follows their rotations. */
  fetchAhead(renewEveryMs?: number): Disposable
}

export function openStateSecrets(bus: Bus, logger: Logger): StateSecrets {
  const keysService = rpcClient('router', bus)
  let keys: SealingKeys | null = null
  let underWay: Promise<void> | null = null
  let triedAtMs = -Infinity
  let hasFailed = false

  async function receive(): Promise<void> {
    const options = { timeoutMs: WITHIN_MS, silentForMs: SILENT_MS, failingForMs: SILENT_MS }
    keys = deriveStateKeys(await keysService.request('keysStateSecrets', {}, options))
    hasFailed = false
  }

  async function fetch(): Promise<void> {
    triedAtMs = performance.now()
    try {
      await receive()
    } catch (error) {
      if (!hasFailed) logger.warn({ err: error }, 'keys has no secrets for state: responses go without their reasoning')
      hasFailed = true
    } finally {
      underWay = null
    }
  }

  function again(): Promise<void> {
    return (underWay ??= fetch())
  }

  return {
    sealFor: (account) => new AccountSeal(() => keys, account),
    prepare() {
      if (keys !== null) return undefined
      if (!hasFailed) return again()
      if (performance.now() - triedAtMs >= AGAIN_AFTER_FAILURE_MS) void again()
      return undefined
    },
    async refresh() {
      const pauseMs = keys === null && hasFailed ? AGAIN_AFTER_FAILURE_MS : AGAIN_AFTER_SUCCESS_MS
      if (underWay !== null || performance.now() - triedAtMs >= pauseMs) await again()
    },
    fetchAhead(renewEveryMs = RENEW_EVERY_MS) {
      const over = new AbortController()
      const options = { ref: false, signal: over.signal }
      // A request that needs them now fetches for itself, and reports a failure.
      const follow = async () => {
        while (!over.signal.aborted) {
          await receive().catch(() => {})
          await sleep(keys === null ? AHEAD_EVERY_MS : renewEveryMs, undefined, options).catch(() => {})
        }
      }
      void follow()
      return { [Symbol.dispose]: () => over.abort() }
    },
  }
}
