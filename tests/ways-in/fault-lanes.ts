/**
 * A model for each fault and dialect, with two backends that nobody has seen fail yet, the first preferred. One
 * simulated server plays all backends, and distinguishes them by a header.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import { AFTER_CONTENT, BEFORE_CONTENT, type Case, HARMLESS } from '../faults/backends.ts'

/** Silence that a backend is allowed. */
const SILENCE_MS = 1_500

export interface FaultLane extends Case {
  dialect: ClientDialect
  model: string
  first: string
  second: string
}

const streamed = (cases: Case[]): Case[] => cases.filter(({ only, group }) => only !== 'plain' && group === undefined)

function lanesOf(kind: string, cases: Case[]): FaultLane[] {
  return (['responses', 'messages'] as const).flatMap((dialect) =>
    streamed(cases).map((row, index) => {
      const model = `${kind}-${dialect}-${index}`
      return { ...row, dialect, model, first: `${model}-a`, second: `${model}-b` }
    }),
  )
}

export const unnoticed = lanesOf('before', BEFORE_CONTENT)
export const reported = lanesOf('after', AFTER_CONTENT)
export const harmless = lanesOf('harmless', HARMLESS)

export function sectionsOver(url: string) {
  const lanes = [...unnoticed, ...reported, ...harmless]
  const backendOf = (id: string) => ({
    id,
    url,
    headers: { 'x-simulated-backend': id },
    timeouts: { connectMs: 2_000, firstByteMs: SILENCE_MS, idleMs: SILENCE_MS },
  })
  return {
    backends: lanes.flatMap(({ first, second }) => [backendOf(first), backendOf(second)]),
    pools: lanes.map(({ model, first, second }) => ({
      id: model,
      targets: [first, second].map((backend, index) => ({ backend, model: 'sim-frail', priority: index + 1 })),
    })),
    models: lanes.map(({ model }) => ({ id: model, type: 'chat', pool: model, multiplier: 1, maxOutputTokens: 8_192 })),
  }
}
