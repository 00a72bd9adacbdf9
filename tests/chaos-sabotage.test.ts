/**
 * The chaos suite detects a broken gateway. Each case takes away one thing that an invariant rests on, and the suite
 * reports that invariant as broken by the requests concerned.
 */

import { expect, test } from 'vitest'
import { runSabotaged, type SabotagedRun } from '../dev/chaos/sabotage/run-sabotaged.ts'

const CASES: (SabotagedRun & { defect: string })[] = [
  {
    sabotage: 'no-wait',
    defect: 'the last byte does not wait for the stored report',
    invariant: 'an answer whose end reached its client is in the ledger, once, as its backend counted it',
    run: { requests: 200, kills: 17, only: ['lose-machine'] },
  },
  {
    sabotage: 'no-unique-key',
    defect: 'the ledger takes a request twice',
    invariant: 'no request is charged twice',
    run: { requests: 200, kills: 13, only: ['repeat'] },
  },
  {
    sabotage: 'counted-minutes',
    defect: 'requests are counted in fixed minutes instead of a sliding log',
    invariant: 'no more requests than the limit in any 60 seconds',
    run: { requests: 1_300, kills: 0, only: [] },
  },
  {
    sabotage: 'no-void',
    defect: 'a run that lost its edge stays charged',
    invariant: 'what is repeated under one Idempotency-Key is answered, and charged once',
    run: { requests: 100, kills: 17, only: ['kill-claimed'] },
  },
  {
    sabotage: 'accused-backends',
    defect: 'a client’s repeats put backends out for all',
    invariant: 'one client takes no more than its own: no backend, no time, no answer without end',
    run: { requests: 100, kills: 17, only: ['poison'] },
  },
  {
    sabotage: 'no-cap',
    defect: 'a stream goes on behind its cap',
    invariant: 'one client takes no more than its own: no backend, no time, no answer without end',
    run: { requests: 100, kills: 34, only: ['endless'] },
  },
  {
    sabotage: 'no-key-limits',
    defect: 'limits of a key count nothing',
    invariant: 'no key, model or project gets more than its limit, by the backends’ own counts',
    run: { requests: 900, kills: 0, only: [] },
  },
  {
    sabotage: 'wrong-scope',
    defect: 'a refusal names a limit of another',
    invariant: 'a refusal names a limit that is there, and is used up',
    run: { requests: 900, kills: 0, only: [] },
  },
  {
    sabotage: 'no-audit-row',
    defect: 'the audit log lacks a change',
    invariant: 'the audit log has each confirmed change once, and an unconfirmed one at most once',
    run: { requests: 50, kills: 0, only: [] },
  },
  {
    sabotage: 'changed-audit-row',
    defect: 'somebody has changed the audit log',
    invariant: 'the chain of the audit log verifies',
    run: { requests: 100, kills: 0, only: [] },
  },
  {
    sabotage: 'no-tombstone',
    defect: 'keys outlive their end',
    invariant: 'no dead key is admitted after its 200',
    run: { requests: 600, kills: 0, only: [] },
  },
  {
    sabotage: 'no-thoughts',
    defect: 'a model does not get its thoughts back',
    invariant: 'each request brings its conversation to the model: thoughts, summaries and turns',
    run: { requests: 300, kills: 0, only: [] },
  },
]

test.each(CASES)('the suite detects that $defect', { timeout: 180_000 }, async (run) => {
  const { violations, isKept } = await runSabotaged(run)
  expect(violations.length).toBeGreaterThan(0)
  expect(isKept).toBe(false)
})
