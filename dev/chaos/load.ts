/**
 * Sends the planned requests in their order at an even pace, many at once, and never past a fault that is still to
 * come. So the same requests go before and after it in every run.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Clients } from './clients/client.ts'
import { type Clientele, planRequest } from './plan/requests.ts'

export interface Load {
  readonly sent: number
  /** Resolves when so many requests have been sent. */
  reached(requests: number): Promise<void>
  /** Sends no more than so many until the next call. */
  allow(requests: number): void
  /** Resolves when all have been sent and are over. */
  readonly over: Promise<void>
}

const AT_ONCE = 96
const LOOK_EVERY_MS = 5

interface LoadOptions {
  seed: number
  requests: number
  intervalMs: number
  clientele: Clientele | undefined
}

export function startLoad(clients: Clients, { seed, requests, intervalMs, clientele }: LoadOptions): Load {
  let sent = 0
  let allowed = 0
  const running = new Set<Promise<void>>()
  const isOver = () => sent >= requests
  const isHeld = () => sent >= allowed || running.size >= AT_ONCE
  const hasReached = (count: number) => sent >= count

  async function send(): Promise<void> {
    let dueAtMs = performance.now()
    while (!isOver()) {
      while (isHeld()) await sleep(LOOK_EVERY_MS)
      const request = planRequest(seed, ++sent, clientele)
      const carried: Promise<void> = clients.carryOut(request).finally(() => running.delete(carried))
      running.add(carried)
      // No rush makes good for a delay.
      dueAtMs = Math.max(dueAtMs + intervalMs, performance.now() - intervalMs)
      const waitMs = dueAtMs - performance.now()
      if (waitMs > 1) await sleep(waitMs)
    }
    await Promise.all(running)
  }

  return {
    get sent() {
      return sent
    },
    async reached(count) {
      while (!hasReached(count)) await sleep(LOOK_EVERY_MS)
    },
    allow: (count) => void (allowed = count),
    over: send(),
  }
}
