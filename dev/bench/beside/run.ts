/**
 * `npm run bench -- beside --rounds 3`: the effect of one hostile guest on a neighbour. The neighbour sends requests at a steady
 * rate, alone and beside each attack in turn, and the ratio of its p99 is the figure. One edge, one router. The load
 * has a core of its own. A p99 of 500 requests varies by itself, so the figure is the median of several rounds.
 *
 * Large bodies cost the machine, also where another server refuses them. So each attack with a body also goes to a bare
 * server on the gateway's core.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { confine, shareCores } from '../harness/cores.ts'
import { runLoad } from '../harness/load.ts'
import { describeEnvironment, loadNow, type Environment } from '../harness/machine.ts'
import { compileNative } from '../harness/native.ts'
import { cpuMsOf } from '../harness/processes.ts'
import { watchNeighbours } from '../harness/neighbours.ts'
import { writeResult } from '../harness/results.ts'
import { describeTaking, figure, median, spread, table } from '../report/markdown.ts'
import { writeIntoReadme } from '../report/pages.ts'
import { openRig, PLAIN, type Rig } from '../scale/rig.ts'
import { ATTACKS, type Attack } from './attacks.ts'
import { begin } from './begin-attack.ts'

const PART = 'beside'
const RATE = 50
const CONNECTIONS = 16
const SECONDS = 10
const WARM_UP_SECONDS = 10
/** The attack is under way, and the edge's threads have begun. */
const RAMP_MS = 2_000
const REST_MS = 2_000

interface Step {
  attack: string
  alone: Latency
  beside: Latency
  /** Beside the same attack on a bare server. */
  bare: Latency | null
  statuses: Record<string, number>
  /** CPU time of the edge, and of the bare server, per megabyte of a refused body, less the neighbour's cost to the edge. */
  edgeMsPerMb: number | null
  bareMsPerMb: number | null
}

interface Latency {
  p50: number
  p99: number
  failed: number
  /** CPU time of the process that is attacked. */
  cpuMs: number
}

type Measure = (pid: number) => Promise<Latency>

export interface BesideOptions {
  rounds: number
  signal: AbortSignal
  say(line: string): void
}

export async function beside({ rounds, signal, say }: BesideOptions): Promise<void> {
  const taken = describeEnvironment()
  const cores = shareCores()
  const [loadBefore, others] = [loadNow(), watchNeighbours()]
  const { load: program } = await compileNative()
  await confine(process.pid, cores.gateway)
  await using rig = await openRig(signal)
  for (const pid of [process.pid, rig.backend.pid]) await confine(pid, cores.load)
  await using refuser = await startBareRefuser(cores.gateway)
  const measure: Measure = async (pid) => {
    const cpuBeforeMs = cpuMsOf(pid)
    const load = await runLoad(program, neighbourOf(rig), PLAIN, {
      connections: CONNECTIONS,
      rate: RATE,
      seconds: SECONDS,
      signal,
    })
    const { p50, p99 } = load.latency
    return { p50, p99, failed: load.failed, cpuMs: cpuMsOf(pid) - cpuBeforeMs }
  }
  await runLoad(program, neighbourOf(rig), PLAIN, { connections: 32, seconds: WARM_UP_SECONDS, signal })
  const steps: Step[] = []
  for (let round = 1; round <= rounds; round++) {
    for (const attack of ATTACKS) {
      const step = await measureStep(attack, `${attack.name} ${round}`, rig, refuser, measure, signal)
      say(`${round} of ${rounds}, ${describeStep(step)}`)
      steps.push(step)
      await sleep(REST_MS, undefined, { signal })
    }
    const launch = { loadBefore, loadAfter: loadNow(), othersShare: others() }
    await writeResult(PART, { environment: taken, ...launch, steps })
    await writeIntoReadme(PART, report(taken, launch, steps))
  }
}

/** `device`: each round has a guest of its own, whose limits are whole. */
async function measureStep(
  attack: Attack,
  device: string,
  rig: Rig,
  refuser: { port: number; pid: number },
  measure: Measure,
  signal: AbortSignal,
): Promise<Step> {
  const [port] = rig.gateway.endpoint.ports
  const edge = rig.gateway.processes()['edge-1']!
  const alone = await measure(edge)
  const { latency, refused, statuses } = await under(attack, port!, await mintGuest(rig, device), edge, measure)
  await sleep(REST_MS, undefined, { signal })
  const bare = attack.body ? await under(attack, refuser.port, 'none', refuser.pid, measure) : null
  return {
    attack: attack.name,
    alone,
    beside: latency,
    bare: bare?.latency ?? null,
    statuses,
    edgeMsPerMb: attack.body ? (latency.cpuMs - alone.cpuMs) / refused : null,
    bareMsPerMb: bare ? bare.latency.cpuMs / bare.refused : null,
  }
}

function describeStep({ attack, alone, beside: under, bare, statuses }: Step): string {
  const besideBare = bare ? ms(bare) : 'no figure'
  const figures = `p99 ${ms(alone)} alone, ${ms(under)} beside it, ${besideBare} beside a bare server`
  return `${attack}: ${figures}; ${describeStatuses(statuses)}`
}

const ms = ({ p99 }: Latency) => `${p99.toFixed(1)} ms`

async function startBareRefuser(cores: Parameters<typeof confine>[1]) {
  const child = fork(join(import.meta.dirname, 'bare-refuser.ts'))
  const [port] = (await once(child, 'message')) as [number]
  await confine(child.pid!, cores)
  const exited = once(child, 'exit')
  return {
    port,
    pid: child.pid!,
    async [Symbol.asyncDispose]() {
      child.disconnect()
      await exited
    },
  }
}

/** `refused`: megabytes of bodies, while the latency was measured. */
async function under(attack: Attack, port: number, key: string, pid: number, measure: Measure) {
  await using running = await begin(attack, port, key)
  await sleep(RAMP_MS)
  const before = await running.count()
  const latency = await measure(pid)
  const refused = (((await running.count()) - before) * (attack.body?.length ?? 0)) / 1e6
  return { latency, refused, statuses: await running.stop() }
}

/** An account that stays within its limits. */
function neighbourOf({ gateway }: Rig) {
  return { ...gateway.endpoint, tokens: gateway.keys.slice(0, 1) }
}

async function mintGuest({ gateway }: Rig, device: string): Promise<string> {
  const response = await fetch(`${gateway.cluster.edges[0]}/v1/keys/guest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device_id: device }),
  })
  return ((await response.json()) as { key: string }).key
}

function describeStatuses(statuses: Record<string, number>): string {
  return Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')
}

type Launch = Parameters<typeof describeTaking>[1][number]

function report(taken: Environment, launch: Launch, steps: Step[]): string {
  const rows = [...Map.groupBy(steps, ({ attack }) => attack)].map(([attack, rounds]) => {
    const latencies = (of: (step: Step) => Latency) =>
      [({ p50 }: Latency) => p50, ({ p99 }: Latency) => p99]
        .map((part) => median(rounds.map((step) => part(of(step)))))
        .join(' / ')
    const bares = rounds.filter((step) => step.bare !== null)
    const perMb = (of: (step: Step) => number | null) => median(rounds.map((step) => of(step) ?? undefined))
    return [
      attack,
      latencies(({ alone }) => alone),
      latencies((step) => step.beside),
      spread(rounds.map((step) => step.beside.p99 / step.alone.p99)),
      spread(bares.map(({ bare, alone }) => bare!.p99 / alone.p99)),
      bares.length === 0 ? '–' : `${perMb((step) => step.edgeMsPerMb)} / ${perMb((step) => step.bareMsPerMb)}`,
      describeStatuses(sumOf(rounds.map(({ statuses }) => statuses))),
      figure(rounds.reduce((sum, step) => sum + step.beside.failed, 0)),
    ]
  })
  const head = [
    'a guest’s',
    'alone, p50 / p99 ms',
    'beside it, p50 / p99 ms',
    'p99, times alone',
    'beside a bare server, times alone',
    'CPU ms per refused MB: the edge / a bare server',
    'the guest got',
    'failed',
  ]
  return [describeTaking(taken, [launch]), table(head, rows)].join('\n\n')
}

function sumOf(counts: Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [name, count] of counts.flatMap((each) => Object.entries(each))) sums[name] = (sums[name] ?? 0) + count
  return sums
}
