/** Runs one agent on one target: the long task with a router killed in it, and a task that is cut by a revoke. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { TargetDialect } from '@gateway/contracts/vendors'
import type { Agent, Ran } from './agent.ts'
import { routerAt } from './find-router.ts'
import { modelOf, type Account, type Stage } from './stage.ts'
import { noCounts } from './stand-in.ts'
import { COMPACTIONS, DONE, isDone, playEndless, playTask, prepare, STEPS, TASK, type Progress } from './task.ts'

/** A cell: it holds, it does not apply, or the reason why it does not hold. */
export type Cell = 'yes' | `n/a: ${string}` | `no: ${string}`

export const COLUMNS = [...(['task done', 'tools', 'compaction', 'killed router', 'ledger', 'cut by revoke'] as const)]
export type Row = Record<(typeof COLUMNS)[number], Cell>

const TASK_WITHIN_MS = 240_000
const CUT_WITHIN_MS = 60_000
const LEDGER_WITHIN_MS = 20_000
/** The promise is a second; the machine may be busy. */
const CUT_AFTER_MS = 3_000

export async function proveAgent(agent: Agent, dialect: TargetDialect, stage: Stage): Promise<Row> {
  return { ...(await proveTask(agent, dialect, stage)), ...(await proveCut(agent, dialect, stage)) }
}

async function proveTask(agent: Agent, dialect: TargetDialect, stage: Stage) {
  const standIn = stage.standIns[dialect]
  const repository = await stage.newRepository()
  await prepare(repository)
  const account = await stage.newAccount()
  const progress: Progress = { read: new Set(), summaries: 0 }
  let killed: string | null = null
  standIn.counts = noCounts()
  standIn.complaints = []
  standIn.seen = []
  standIn.model = playTask(repository, progress, agent)
  standIn.onHold = async (port) => {
    killed = await routerAt(stage.cluster, port)
    stage.cluster.process(killed).kill('SIGKILL')
    await sleep(500)
  }
  const work = { url: stage.url, key: account.key, model: modelOf(dialect), repository, home: await stage.newHome() }
  const ran = await agent.run({ ...work, task: TASK }, AbortSignal.timeout(TASK_WITHIN_MS))
  const isReported = ran.out.includes(DONE)
  const done = isReported && (await isDone(repository))
  const hasTools = typeof agent.callFor === 'function'
  const row = {
    'task done': done ? 'yes' : no(whyNot(ran, standIn.complaints, await isDone(repository))),
    tools: !hasTools
      ? na('it has none')
      : progress.read.size === STEPS
        ? 'yes'
        : no(`the model read the output of ${progress.read.size} of ${STEPS} steps`),
    compaction: agent.neverCompacts
      ? na(agent.neverCompacts)
      : progress.summaries >= COMPACTIONS
        ? 'yes'
        : no(`${progress.summaries} of ${COMPACTIONS}`),
    'killed router':
      killed !== null && done
        ? 'yes'
        : no(killed === null ? `none was killed (${standIn.complaints.join(' / ')})` : 'the task did not end'),
    ledger: await ledgerCell(account, standIn.counts),
  } satisfies Partial<Row>
  for (const name of new Set(stage.cluster.processes.map(({ plan }) => plan.name)))
    if (name === killed) await stage.cluster.process(name).ready()
  return row
}

function no(reason: string): Cell {
  return `no: ${reason}`
}
function na(reason: string): Cell {
  return `n/a: ${reason}`
}

const LONGEST_REASON = 300

function whyNot({ code, out, err }: Ran, complaints: string[], isWorkDone: boolean): string {
  if (isWorkDone) return 'it did not say so'
  const lines = [...complaints.slice(0, 2), ...(err || out).trim().split('\n').slice(-3)]
  return `it ended with ${code}: ${lines.join(' / ')}`.replaceAll('|', '/').slice(0, LONGEST_REASON)
}

async function ledgerCell(account: Account, counts: ReturnType<typeof noCounts>): Promise<Cell> {
  const wanted = [counts.requests, counts.promptTokens, counts.completionTokens].join('/')
  const deadlineMs = performance.now() + LEDGER_WITHIN_MS
  for (;;) {
    const { requests, prompt_tokens: prompt, completion_tokens: completion } = await account.usage()
    const held = [requests, prompt, completion].join('/')
    if (held === wanted) return 'yes'
    if (performance.now() > deadlineMs) return no(`${held} of ${wanted} requests/prompt/completion tokens`)
    await sleep(500)
  }
}

async function proveCut(agent: Agent, dialect: TargetDialect, stage: Stage) {
  const standIn = stage.standIns[dialect]
  const repository = await stage.newRepository()
  await prepare(repository)
  const account = await stage.newAccount()
  standIn.onHold = null
  standIn.model = playEndless((request) => agent.isSide(request))
  const work = { url: stage.url, key: account.key, model: modelOf(dialect), repository, home: await stage.newHome() }
  const stop = new AbortController()
  const running = agent.run({ ...work, task: TASK }, stop.signal)
  try {
    if (!(await holdsWithin(() => standIn.open.size > 0, CUT_WITHIN_MS)))
      return { 'cut by revoke': no('it opened no stream') }
    await sleep(1_000)
    await account.revoke()
    const before = standIn.seen.length
    const isCut = await holdsWithin(() => standIn.open.size === 0, CUT_AFTER_MS)
    // An agent repeats the request, and the gateway refuses each.
    await sleep(2_000)
    if (!isCut) return { 'cut by revoke': no(`the stream went on for ${CUT_AFTER_MS} ms`) }
    const after = standIn.seen.length - before
    return { 'cut by revoke': after === 0 ? ('yes' as const) : no(`${after} requests reached the backend`) }
  } finally {
    stop.abort()
    await running
  }
}

async function holdsWithin(condition: () => boolean, withinMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + withinMs
  while (performance.now() < deadlineMs) {
    if (condition()) return true
    await sleep(50)
  }
  return condition()
}
