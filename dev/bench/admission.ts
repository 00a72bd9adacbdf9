/**
 * Measures the cost of admission: admit, finish, and an admit that carries the end of an earlier request. It runs on a
 * Redis of its own, over a thousand accounts. Three kinds of keys take turns: one without a project, one of a project without
 * limits, and one with all limits of key and model. It prints the time of each script inside Redis, the commands that it
 * runs, and the CPU of both sides. A cell is the median of the rounds. The time of a script is the median of the calls, which
 * other work on the machine hardly moves.
 *
 *     node_modules/node/bin/node dev/bench/admission.ts [requests] [concurrency] [rounds]
 */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { limitsWith } from '@gateway/admission/limits-for-tests'
import type { KeyLimits, ProjectFacts } from '@gateway/admission/port'
import { openRedisAdmission } from '@gateway/admission/redis'
import { startRedis } from '@gateway/servers/start'

const requests = Number(process.argv[2] ?? 20_000)
const concurrency = Number(process.argv[3] ?? 32)
const rounds = Number(process.argv[4] ?? 5)
const ACCOUNTS = 1000
const MODEL = 'svc-chat-md'
const KEY_ID = 'key00001'
const LIMITS = limitsWith({ requestsPerMinute: 600, tokensPerMinute: 1_000_000, allowance: 1e15 })

await using server = await startRedis({ own: true })
await using admission = await openRedisAdmission({ url: server.url, timeoutMs: 5_000 })
const operator = connect(Number(new URL(server.url).port), '127.0.0.1')

const NO_LIMITS: KeyLimits = {
  ...{ keyId: KEY_ID, expiresAtMs: null, monthly: null, requestsPerMinute: null, tokensPerMinute: null, policy: '{}' },
}
const ALL_LIMITS: KeyLimits = {
  ...{ keyId: KEY_ID, expiresAtMs: Date.now() + 86_400_000, monthly: 1e14 },
  ...{ requestsPerMinute: 600, tokensPerMinute: 1_000_000, policy: '{}' },
}
const MODEL_LIMITS = { model: MODEL, requestsPerMinute: 600, tokensPerMinute: 1_000_000, requestsPerDay: 1e6 }

/** `project`: null for the key of a person. */
interface Kind {
  name: string
  project: ProjectFacts | null
  limits: KeyLimits
}
const project = { hardLimit: null, modelLimits: [], policy: '{}', policyVersion: 1 }
const kinds: Kind[] = [
  { name: 'plain key', project: null, limits: NO_LIMITS },
  { name: 'key of a project', project, limits: NO_LIMITS },
  { name: 'all limits', project: { ...project, hardLimit: 1e14, modelLimits: [MODEL_LIMITS] }, limits: ALL_LIMITS },
]

type Cells = Record<string, number>
const samples = new Map<string, Cells[]>()
const sample = async (name: string, run: () => Promise<number[]>): Promise<void> => {
  const cells = await measured(run)
  samples.set(name, [...(samples.get(name) ?? []), cells])
}

// Accounts of each kind are new in each round, so that no log is longer than those of the others.
for (let round = -1; round < rounds; round++) {
  for (const kind of kinds) {
    const accounts = await knownAccounts(kind)
    const ids: Promise<string>[] = []
    const admitOnce = (ended: boolean) => (index: number) =>
      (ids[index] = admit(kind, accounts, index, ended ? ids[index] : undefined))
    if (round < 0)
      await inParallel(Math.min(requests, 5_000), (index) => finish(accounts, index, admitOnce(false)(index)))
    else {
      await sample(`${kind.name}: admit`, () => inParallel(requests, admitOnce(false)))
      await sample(`${kind.name}: admit with an end`, () => inParallel(requests, admitOnce(true)))
      await sample(`${kind.name}: finish`, () => inParallel(requests, (index) => finish(accounts, index, ids[index]!)))
    }
  }
}
const rows = [...samples].map(([name, of]) => [name, medians(of)] as const)
console.table(Object.fromEntries(rows))
const plain = Object.fromEntries(rows)
const RATIO = 'script in Redis, us'
console.table(
  Object.fromEntries(
    rows.map(([name, cells]) => {
      const [, call] = name.split(': ')
      const ratio = cells[RATIO]! / plain[`plain key: ${call}`]![RATIO]!
      return [name, { 'time of the script beside the plain key': `${((ratio - 1) * 100).toFixed(1)} %` }]
    }),
  ),
)
operator.destroy()

function medians(of: Cells[]): Cells {
  const middle = (name: string) => of.map((cells) => cells[name]!).toSorted((a, b) => a - b)[Math.floor(of.length / 2)]!
  return Object.fromEntries(Object.keys(of[0]!).map((name) => [name, middle(name)]))
}

async function measured(run: () => Promise<number[]>): Promise<Cells> {
  await operate('CONFIG RESETSTAT')
  const [own, redisMs, startedAt] = [process.cpuUsage(), await redisCpuMs(), performance.now()]
  const latencies = (await run()).sort((a, b) => a - b)
  const elapsedMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(own)
  const redisCpu = (await redisCpuMs()) - redisMs
  const commands = await operate('INFO commandstats')
  const calls = [...commands.matchAll(/cmdstat_\S+?:calls=(\d+)/g)].reduce((sum, match) => sum + Number(match[1]), 0)
  return {
    'per second': Math.round(requests / (elapsedMs / 1000)),
    'p50, ms': rounded(latencies[Math.floor(requests * 0.5)]!, 2),
    'p99, ms': rounded(latencies[Math.floor(requests * 0.99)]!, 2),
    'script in Redis, us': Number(/evalsha:p50=([\d.]+)/.exec(await operate('INFO latencystats'))![1]),
    'commands in script': rounded(calls / requests - 1, 1),
    'CPU of Redis, us': rounded((redisCpu * 1000) / requests, 1),
    'CPU of the caller, us': rounded((user + system) / requests, 1),
  }
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

/** Runs `count` times, `concurrency` at once. Returns how long each took. */
async function inParallel(count: number, run: (index: number) => Promise<unknown>): Promise<number[]> {
  const latencies: number[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) {
      const index = next++
      const at = performance.now()
      await run(index)
      latencies.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return latencies
}

async function admit(kind: Kind, accounts: string[], index: number, ended?: Promise<string>): Promise<string> {
  const requestId = randomUUID()
  const account = accounts[index % ACCOUNTS]!
  const who = { requestId, account, keyHash: keyOf(account), planHint: 'pro', planIncludesModel: true }
  const what = { limits: LIMITS, usualTokens: 500, worstCharge: 8_000_000, leaseMs: 600_000 }
  const ends = ended && [{ requestId: await ended, charge: 500_000, tokens: 400 }]
  const policy = kind.project ? { policyHint: `1.1.${KEY_ID}`, model: MODEL } : {}
  const decision = await admission.admit({ ...who, ...what, ...policy, ends })
  if (decision.kind !== 'allow') throw new Error(`not admitted: ${JSON.stringify(decision)}`)
  return requestId
}

async function finish(accounts: string[], index: number, requestId: Promise<string>): Promise<void> {
  const account = accounts[index % ACCOUNTS]!
  await admission.finish({ account, requestId: await requestId, charge: 500_000, tokens: 400 })
}

async function knownAccounts(kind: Kind): Promise<string[]> {
  const { window } = await admission.currentWindow()
  const names = Array.from({ length: ACCOUNTS }, () => randomUUID().slice(0, 8))
  for (const account of names) {
    const key = { keyHash: keyOf(account), version: 1, active: true }
    const facts = { account, version: 1, plan: 'pro', overage: false, extra: 0 }
    const total = { account, window, settled: 0, version: 0 }
    if (kind.project) {
      await admission.fill({ ...facts, project: kind.project, keys: [{ ...key, limits: kind.limits }] })
      await admission.warm({ ...total, keys: kind.limits === ALL_LIMITS ? [{ keyId: KEY_ID, settled: 0 }] : [] })
    } else {
      await admission.fill({ ...facts, keys: [key] })
      await admission.warm(total)
    }
  }
  return names
}

/** Returns a key as long as a SHA-256 in base64url. */
function keyOf(account: string): string {
  return account.padEnd(43, '0')
}

async function redisCpuMs(): Promise<number> {
  const info = await operate('INFO cpu')
  const seconds = ['used_cpu_sys', 'used_cpu_user'].map((name) => Number(new RegExp(`${name}:(\\S+)`).exec(info)![1]))
  return seconds.reduce((sum, value) => sum + value * 1000, 0)
}

/** One command of the operator. Its reply fits in one packet. */
async function operate(command: string): Promise<string> {
  operator.write(`${command}\r\n`)
  const [reply] = (await once(operator, 'data')) as [Buffer]
  return reply.toString()
}
