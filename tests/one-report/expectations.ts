/**
 * The rules for a request's row and reservation when everything has come to rest.
 */

import type { UsageEvent } from '@gateway/contracts/usage-event'
import { expect } from 'vitest'
import { mergeReports, readReports } from '../../services/metering/src/core/reports.ts'
import { PROMPT_TOKENS, type DrivenCall } from './backend-calls.ts'
import { PROMPT_ESTIMATE, type SimulatedGateway } from './simulated-gateway.ts'
import type { Story } from './steps.ts'

export function expectOneReport(gateway: SimulatedGateway, story: Story): void {
  expectOneRow(gateway, story)
  if (!gateway.dead.has('edge')) expectHonestReservation(gateway)
}

/** The row alone. */
export function expectOneRow(gateway: SimulatedGateway, story: Story): void {
  const { calls, dead, client } = gateway
  const row = rowOf(gateway.reports)
  const accepted = calls.filter(hasAccepted)
  const last = accepted.find(({ attempt }) => attempt === gateway.lastAttempt)
  const isCalm = isCalmAt(gateway)

  // Nobody pays for nothing.
  if (accepted.length === 0) expect(row, 'a charge though no backend had accepted').toBeNull()
  if (row) expectGenerated(row, calls, gateway.wordsSeen)

  if (isComplete(gateway, story)) {
    expect(row, 'a whole response without its row').not.toBeNull()
    expect(row).toMatchObject({ outcome: 'completed', delivered: true, reporter: 'edge' })
    const served = calls.filter(({ state }) => state === 'ended')
    expect(served.map(({ words }) => words)).toContain(row!.usage.completionTokens)
  } else if (isCalm) {
    if (client.hasLeft && last) expect(row, 'left by its client, and free').not.toBeNull()
    if (!last) expect(row, 'failed, and charged').toBeNull()
  } else if (dead.has('edge')) {
    const inSight = !gateway.hasLostRouter && gateway.network.longestWaitMs < TAKEN_FOR_DEAD_AFTER_MS
    const witness = inSight && last && !dead.has(last.router)
    if (witness) expect(row, "an edge's death makes it free").not.toBeNull()
  }
  if (!dead.has('edge') && gateway.wordsSeen > 0) expect(row, 'shown, and free').not.toBeNull()

  for (const call of calls) {
    const isAlive = !dead.has(call.router)
    if (isAlive) expect(['ended', 'refused', 'broken', 'aborted'], 'a backend works for nobody').toContain(call.state)
  }
}

/** A client that has seen no content of a lost router gets one whole response from another router. */
export function expectUnnoticed(gateway: SimulatedGateway, story: Story): void {
  const { client, dead, calls } = gateway
  const isRoutersLoss = dead.size === 1 && !dead.has('edge')
  const hasFailed = calls.some(({ state }) => state === 'refused' || state === 'broken')
  if (!isRoutersLoss || client.hasLeft || hasFailed || gateway.isCut || gateway.wordsSeen > 0) return
  expect(isComplete(gateway, story), 'a router was lost, and its client has noticed').toBe(true)
}

function rowOf(events: readonly UsageEvent[]): UsageEvent | null {
  const payload = Buffer.from(JSON.stringify({ v: 1, events }))
  const { reports, rejected } = readReports([{ payload, sequence: 1 }])
  expect(rejected).toEqual([])
  const rows = mergeReports(reports)
  expect(rows.length).toBeLessThanOrEqual(1)
  return rows[0]?.event ?? null
}

/** The backend had the request, and did not refuse it. */
function hasAccepted({ state, wasWorking }: DrivenCall): boolean {
  return state === 'ended' || state === 'broken' || (state === 'aborted' && wasWorking)
}

function isComplete({ client, outcome }: SimulatedGateway, { stream }: Story): boolean {
  if (!client.isEnded || outcome?.error !== null) return false
  return stream ? client.text.endsWith('data: [DONE]\n\n') : client.text.includes('chat.completion')
}

/** The row holds no less than the client saw, and no more than a backend has sent. */
function expectGenerated({ usage }: UsageEvent, calls: readonly DrivenCall[], wordsSeen: number): void {
  expect([PROMPT_TOKENS, PROMPT_ESTIMATE]).toContain(usage.promptTokens)
  expect(usage.estimated).toBe(usage.promptTokens === PROMPT_ESTIMATE)
  expect(usage.completionTokens).toBeGreaterThanOrEqual(wordsSeen)
  expect(usage.completionTokens).toBeLessThanOrEqual(Math.max(0, ...calls.map(({ words }) => words)))
}

const TAKEN_FOR_DEAD_AFTER_MS = 3_000

/** Nobody has died, or could be taken for dead. */
function isCalmAt({ dead, hasLost, network }: SimulatedGateway): boolean {
  return dead.size === 0 && !hasLost && network.longestWaitMs < TAKEN_FOR_DEAD_AFTER_MS
}

function expectHonestReservation(gateway: SimulatedGateway): void {
  const { finished, hasLost } = gateway
  const row = rowOf(gateway.reports)
  expect(gateway.isRunning, 'still renewed').toBe(false)
  expect(finished.length).toBeLessThanOrEqual(1)
  if (isCalmAt(gateway)) expect(finished, 'held until it lapses').toHaveLength(1)
  const tokens = row === null ? 0 : row.usage.promptTokens + row.usage.completionTokens
  if (finished[0] && !hasLost) expect(finished[0].tokens, 'freed as something else than the row').toBe(tokens)
}
