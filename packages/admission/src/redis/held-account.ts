/**
 * What `lua/inspect.lua` answers, read.
 */

import type { HeldAccount } from '../port.ts'

type Answer = [
  window: string,
  plan: [] | [version: string, plan: string, overage: string, extra: string],
  keys: (string | number)[],
  total: [] | [settled: string, version: string],
  sums: [running: string | number, ended: string | number],
  requests: (string | number)[],
]

export function readHeldAccount(answer: unknown): HeldAccount {
  const [window, plan, keys, total, [running, ended], requests] = answer as Answer
  return {
    window,
    facts:
      plan.length === 0
        ? null
        : { version: Number(plan[0]), plan: plan[1], overage: plan[2] === '1', extra: Number(plan[3]) },
    keys: inGroups(keys, 3).map(([keyHash, version, active]) => {
      return { keyHash: String(keyHash), version: Number(version), active: active === 1 }
    }),
    total: total.length === 0 ? null : { settled: Number(total[0]), version: Number(total[1]) },
    running: Number(running),
    ended: Number(ended),
    requests: inGroups(requests, 4).map(([requestId, state, amount, lapsed]) => {
      const isRunning = state === 'running'
      return {
        requestId: String(requestId),
        state: isRunning ? 'running' : 'ended',
        amount: Number(amount),
        lapsed: lapsed === 1,
      }
    }),
  }
}

function inGroups<Item>(items: Item[], size: number): Item[][] {
  return Array.from({ length: items.length / size }, (_, index) => items.slice(index * size, (index + 1) * size))
}
