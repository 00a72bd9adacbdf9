/**
 * The chaos suite detects an edge that is slow for all because of one client. It compares the edge with the one that nobody attacks, so
 * nothing else may keep both of them busy.
 */

import { expect, test } from 'vitest'
import { runSabotaged } from '../dev/chaos/sabotage/run-sabotaged.ts'

test('the suite detects that an edge reads large bodies while all others wait', { timeout: 180_000 }, async () => {
  const { violations, isKept } = await runSabotaged({
    sabotage: 'read-on-loop',
    invariant: 'one client takes no more than its own: no backend, no time, no answer without end',
    run: { requests: 100, kills: 34, only: ['refused-bodies'] },
  })
  expect(violations.length).toBeGreaterThan(0)
  expect(isKept).toBe(false)
})
