/**
 * The facts of a run of one request in which all is well. Each case of the checkers' tests changes some.
 */

import type { Seen } from '../clients/seen.ts'
import type { Facts } from './facts.ts'

export const SEEN: Seen = {
  id: 'r1',
  kind: 'stream',
  follows: [],
  way: 'chat',
  owner: 'team-1',
  edge: 0,
  model: 'chat-one',
  key: 'svc_abcd',
  sentAtMs: 1_000,
  headAtMs: 1_010,
  endedAtMs: 1_100,
  status: 200,
  requestId: 'request-1',
  complete: true,
  done: true,
  finishReason: 'stop',
  text: 'all',
  textLength: 10,
  words: 3,
  responseIds: ['answer-1'],
  usage: { promptTokens: 10, completionTokens: 5 },
  errorEvent: null,
  left: false,
  keyState: 'alive',
  problem: null,
  scope: null,
  detail: '',
}

export const ROW: Facts['rows'][number] = {
  requestId: 'request-1',
  reporter: 'edge',
  account: 'tag-1',
  unit: 'tokens',
  lane: 'chat-one',
  backend: 'north',
  promptTokens: 10,
  completionTokens: 5,
  estimated: false,
  charge: 15_000,
  isClaimed: false,
  voidedBy: null,
  voidedCharge: null,
  outcome: 'completed',
  delivered: true,
  recordedAtMs: 1_200,
}

export const CALL: Facts['calls'][number] = {
  backend: 'north',
  requestId: 'request-1',
  id: 'r1',
  brought: { ids: ['r1'], thoughtsOf: [], hasSummary: false },
  responseId: 'answer-1',
  outcome: 'completed',
  usage: { promptTokens: 10, completionTokens: 5 },
  startedAtMs: 1_005,
  endedAtMs: 1_100,
  hasResponded: true,
}

export const STORE: Facts['store'][number] = {
  account: 'tag-1',
  known: true,
  settled: 15_000,
  running: 0,
  ended: 0,
  heldForKeys: 0,
  records: [],
  leases: 0,
}

/** One request, and all is well. */
export const WELL: Facts = {
  seen: [SEEN],
  calls: [CALL],
  rows: [ROW],
  windows: [{ account: 'tag-1', total: 15_000, sum: 15_000 }],
  store: [STORE],
  backlog: { events: 0, owedTotals: 0, rejected: 0 },
  owners: [
    { name: 'team-1', kind: 'team', account: 'tag-1' },
    { name: 'trickle', kind: 'trickle', account: 'tag-2' },
    { name: 'thimble-1', kind: 'thimble', account: 'tag-3' },
  ],
  injected: [],
  alone: [],
  promotionsAtMs: [],
  administration: null,
}
