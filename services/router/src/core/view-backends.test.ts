import { expect, test } from 'vitest'
import { afterFault, afterSuccess, newHealth } from './backend-health.ts'
import { viewHealth } from './view-backends.ts'

const WALL_MS = Date.parse('2026-11-20T10:00:00Z')
const at = (nowMs: number) => ({ nowMs, wallMs: WALL_MS + nowMs })

test('an operator is told how a target is, and until when', () => {
  const cooling = afterFault(newHealth(), { startedAtMs: 100 }, { on: 'target', weight: 'soft', coolMs: 5_000 }, 100, 0)
  const ejected = afterFault(cooling, { startedAtMs: 200 }, { on: 'backend', weight: 'hard' }, 200, 0)
  expect(viewHealth(newHealth(), at(0))).toEqual({ state: 'healthy', untilMs: null })
  expect(viewHealth(cooling, at(150))).toEqual({ state: 'cooling', untilMs: WALL_MS + 5_100 })
  expect(viewHealth(ejected, at(300))).toEqual({ state: 'ejected', untilMs: WALL_MS + 1_200 })
  expect(viewHealth(ejected, at(1_200))).toEqual({ state: 'cooling', untilMs: WALL_MS + 5_100 })
  expect(viewHealth(ejected, at(5_100))).toEqual({ state: 'on_trial', untilMs: null })
  expect(viewHealth(afterSuccess(ejected, { startedAtMs: 5_200 }, 5_200), at(5_200))).toEqual({
    state: 'healthy',
    untilMs: null,
  })
})
