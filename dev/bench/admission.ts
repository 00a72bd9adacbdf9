/**
 * Measures the cost of admission: admit, finish, and an admit that carries the end of an earlier request. It runs on a
 * Redis of its own, over a thousand accounts. It prints the time of each script inside Redis, the commands that it
 * runs, and the CPU of both sides.
 *
 *     node_modules/node/bin/node dev/bench/admission.ts [requests] [concurrency]
 */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { limitsWith } from '@gateway/admission/limits-for-tests'
import { openRedisAdmission } from '@gateway/admission/redis'
import { startRedis } from '@gateway/servers/start'

const requests = Number(process.argv[2] ?? 50_000)
const concurrency = Number(process.argv[3] ?? 32)
const ACCOUNTS = 1000
const LIMITS = limitsWith({ requestsPerMinute: 600, tokensPerMinute: 1_000_000, allowance: 1e15 })

await using server = await startRedis({ own: true })
await using admission = await openRedisAdmission({ url: server.url, timeoutMs: 5_000 })
const operator = connect(Number(new URL(server.url).port), '127.0.0.1')

const accounts = await knownAccounts()
await inParallel(5_000, (index) => finish(index, admit(index)))

const ids: Promise<string>[] = []
console.table({
  admit: await measured(() => inParallel(requests, (index) => (ids[index] = admit(index)))),
  'admit with an end': await measured(() => inParallel(requests, (index) => (ids[index] = admit(index, ids[index])))),
  finish: await measured(() => inParallel(requests, (index) => finish(index, ids[index]!))),
})
operator.destroy()

async function measured(run: () => Promise<number[]>): Promise<Record<string, string>> {
  await operate('CONFIG RESETSTAT')
  const [own, redisMs, startedAt] = [process.cpuUsage(), await redisCpuMs(), performance.now()]
  const latencies = (await run()).sort((a, b) => a - b)
  const elapsedMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(own)
  const redisCpu = (await redisCpuMs()) - redisMs
  const commands = await operate('INFO commandstats')
  const calls = [...commands.matchAll(/cmdstat_\S+?:calls=(\d+)/g)].reduce((sum, match) => sum + Number(match[1]), 0)
  return {
    'per second': Math.round(requests / (elapsedMs / 1000)).toString(),
    p50: `${latencies[Math.floor(requests * 0.5)]!.toFixed(2)} ms`,
    p99: `${latencies[Math.floor(requests * 0.99)]!.toFixed(2)} ms`,
    'script in Redis': `${/cmdstat_evalsha:.*?usec_per_call=([\d.]+)/.exec(commands)![1]!} us`,
    'commands in script': (calls / requests - 1).toFixed(1),
    'CPU of Redis': `${((redisCpu * 1000) / requests).toFixed(1)} us`,
    'CPU of the caller': `${((user + system) / requests).toFixed(1)} us`,
  }
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

async function admit(index: number, ended?: Promise<string>): Promise<string> {
  const requestId = randomUUID()
  const account = accounts[index % ACCOUNTS]!
  const who = { requestId, account, keyHash: keyOf(account), planHint: 'pro', planIncludesModel: true }
  const what = { limits: LIMITS, usualTokens: 500, worstCharge: 8_000_000, leaseMs: 600_000 }
  const ends = ended && [{ requestId: await ended, charge: 500_000, tokens: 400 }]
  const decision = await admission.admit({ ...who, ...what, ends })
  if (decision.kind !== 'allow') throw new Error(`not admitted: ${JSON.stringify(decision)}`)
  return requestId
}

async function finish(index: number, requestId: Promise<string>): Promise<void> {
  const account = accounts[index % ACCOUNTS]!
  await admission.finish({ account, requestId: await requestId, charge: 500_000, tokens: 400 })
}

async function knownAccounts(): Promise<string[]> {
  const { window } = await admission.currentWindow()
  const names = Array.from({ length: ACCOUNTS }, () => randomUUID().slice(0, 8))
  for (const account of names) {
    const keys = [{ keyHash: keyOf(account), version: 1, active: true }]
    await admission.fill({ account, version: 1, plan: 'pro', overage: false, extra: 0, keys })
    await admission.warm({ account, window, settled: 0, version: 0 })
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
