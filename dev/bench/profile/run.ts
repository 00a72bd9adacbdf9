/**
 * `npm run bench -- profile [plain|stream|prompt|tools|tools-passed]`: where edge and router spend their time under load, as text in
 * `bench/profiles`, one file per process and kind of load.
 */

import { globSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Endpoint, LoadOptions, Order } from '../harness/load.ts'
import { ROOT } from '../harness/folders.ts'
import { describeEnvironment } from '../harness/machine.ts'
import { openRig, PLAIN, type Rig } from '../scale/rig.ts'
import { laneOf } from '../subjects/gateway.ts'
import { CODING_TOOL_ORDER } from '../ways/run.ts'
import { cpuProfile, partTimes, selfTimes } from './self-time.ts'

const PROFILES = join(ROOT, 'dev', 'bench', 'profiles')
const PROFILED = ['edge-1', 'router-1']
const LINES = 40
const WARM_UP_SECONDS = 6
const CODING_TOOL = {
  order: CODING_TOOL_ORDER,
  options: { connections: 32, seconds: 12 },
  endpoint: { path: '/v1/responses', dialect: 'responses' },
} as const

interface ProfiledLoad {
  order: Order
  options: LoadOptions
  words: string
  /** Chat's where there is none. */
  endpoint?: Pick<Endpoint, 'path' | 'dialect'> & { model?: string }
}

const LOADS: Record<string, ProfiledLoad> = {
  plain: { order: PLAIN, options: { connections: 32, seconds: 15 }, words: 'plain answers, 32 connections' },
  stream: {
    order: { stream: true, chunks: 240, everyUs: 50_000, bytes: 20 },
    options: { connections: 300, seconds: 2, rampSeconds: 2, drainSeconds: 30 },
    words: '300 streams, a chunk per 50 ms',
  },
  prompt: {
    order: { ...PLAIN, promptBytes: 1_000_000 },
    options: { connections: 4, seconds: 12 },
    words: 'prompts of 1 MB, 4 connections',
  },
  tools: { ...CODING_TOOL, words: "a coding tool's requests by the Responses API, 32 connections" },
  'tools-passed': {
    ...CODING_TOOL,
    endpoint: { ...CODING_TOOL.endpoint, model: laneOf('responses') },
    words: "a coding tool's requests by the Responses API, passed through, 32 connections",
  },
}

export interface ProfileOptions {
  /** An empty list stands for all. */
  only: string[]
  signal: AbortSignal
  say(line: string): void
}

export async function profile({ only, signal, say }: ProfileOptions): Promise<void> {
  for (const [name, load] of Object.entries(LOADS)) {
    if (only.length > 0 && !only.includes(name)) continue
    const folder = await mkdtemp(join(tmpdir(), 'gateway-profile-'))
    try {
      const taken = await take(folder, load, signal)
      for (const process of PROFILED) {
        const path = join(PROFILES, `${process.replace(/-\d+$/, '')}-${name}.txt`)
        await mkdir(PROFILES, { recursive: true })
        await writeFile(path, await describe(folder, taken, process, load.words))
        say(`wrote ${path.slice(ROOT.length + 1)}`)
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

interface Taken {
  pids: Record<string, number>
  fromUs: number
  toUs: number
}

/** The processes write their profiles when they end. */
async function take(folder: string, { order, options, endpoint }: ProfiledLoad, signal: AbortSignal): Promise<Taken> {
  const environment = { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` }
  await using rig: Rig = await openRig(signal, { environment, dialects: ['responses'] })
  await rig.run(PLAIN, { connections: 32, seconds: WARM_UP_SECONDS })
  const measured = { ...rig.gateway.endpoint, ...endpoint }
  if (endpoint) await rig.run(order, { ...options, seconds: WARM_UP_SECONDS }, measured)
  const fromUs = nowUs()
  await rig.run(order, options, measured)
  return { pids: rig.gateway.processes(), fromUs, toUs: nowUs() }
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}

async function describe(folder: string, taken: Taken, name: string, words: string): Promise<string> {
  const [path] = globSync(`CPU.*.${taken.pids[name]}.0.*.cpuprofile`, { cwd: folder })
  if (path === undefined) throw new Error(`${name} left no profile`)
  const read = cpuProfile.parse(JSON.parse(await readFile(join(folder, path), 'utf8')))
  const times = selfTimes(read, taken.fromUs, taken.toUs).slice(0, LINES)
  const { commit, takenAt } = describeEnvironment()
  const lines = times.map(({ name, place, share }) => `${percent(share)}  ${name}  ${place}`.trimEnd())
  const parts = partTimes(read, taken.fromUs, taken.toUs)
    .slice(0, LINES)
    .map(({ part, share }) => `${percent(share)}  ${part}`)
  const head = `${name}, ${words}: self time in % of its busy time, at ${commit} on ${takenAt.slice(0, 10)}`
  const onBehalf = 'The same time, by the package or file of ours on whose behalf it was spent'
  return `${[head, 'npm run bench -- profile', '', ...lines, '', onBehalf, '', ...parts].join('\n')}\n`
}

function percent(share: number): string {
  return (share * 100).toFixed(1).padStart(5)
}
