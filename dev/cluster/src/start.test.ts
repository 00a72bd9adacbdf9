import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { startTimeOf } from '@gateway/embedded-postgres/processes'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'

interface Running {
  name: string
  service: string
  pid: number
  url: string
  healthUrl: string
}

interface ClusterFile {
  processes: Running[]
  fixtures: Running[]
  servers: Record<'nats' | 'redis' | 'postgres', { url: string; pid: number }>
}

const MAIN = join(import.meta.dirname, 'main.ts')
const COMES_BACK = { timeout: 60_000, interval: 100 }

let dataDir: string
let port: number

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'cluster-'))
  port = await freePort()
})

afterAll(() => rm(dataDir, { recursive: true, force: true }))

describe('a running cluster', () => {
  let supervisor: ChildProcess

  beforeAll(async () => {
    supervisor = await start('--edges', '2', '--routers', '2')
  })

  afterAll(() => end(supervisor, 'SIGKILL'))

  test('lists which process runs where, and each process reports that it is ready', async () => {
    const { processes, servers } = await readCluster()
    expect(processes.map(({ name, service }) => `${service}: ${name}`).toSorted()).toEqual([
      'edge: edge-1',
      'edge: edge-2',
      'keys: keys-1',
      'metering: metering-1',
      'router: router-1',
      'router: router-2',
    ])
    expect(processes.find(({ name }) => name === 'edge-1')!.url).toBe(`http://127.0.0.1:${port}`)
    for (const { pid, healthUrl } of processes) {
      expect(await startTimeOf(pid)).not.toBeNull()
      expect((await fetch(healthUrl)).status).toBe(200)
      expect((await fetch(`${healthUrl}/readyz`)).status).toBe(200)
    }
    for (const { pid } of Object.values(servers)) expect(await startTimeOf(pid)).not.toBeNull()
  })

  test('every edge responds, with a key that the other minted', async () => {
    const [first, second] = await edges()
    const key = await mintGuestKey(first!.url)
    expect(await sendChat(first!.url, key)).toBeTypeOf('string')
    expect(await sendChat(second!.url, key)).toBeTypeOf('string')
  })

  test.each(['router-1', 'edge-2', 'keys-1', 'metering-1'])(
    '%s that is killed is started again on its address',
    async (name) => {
      const before = find(await readCluster(), name)
      process.kill(before.pid, 'SIGKILL')
      await vi.waitFor(async () => {
        const now = find(await readCluster(), name)
        expect(now.pid).not.toBe(before.pid)
        expect(now.url).toBe(before.url)
        expect((await fetch(now.healthUrl)).status).toBe(200)
      }, COMES_BACK)
    },
  )

  test.each(['nats', 'redis', 'postgres'] as const)(
    '%s that is killed is started again, and requests pass',
    async (name) => {
      const before = (await readCluster()).servers[name]
      process.kill(before.pid, 'SIGKILL')
      await vi.waitFor(async () => {
        const now = (await readCluster()).servers[name]
        expect(now.url).toBe(before.url)
        expect(now.pid).toBeTypeOf('number')
        expect(now.pid).not.toBe(before.pid)
      }, COMES_BACK)
      const [first] = await edges()
      await vi.waitFor(async () => sendChat(first!.url, await mintGuestKey(first!.url)), COMES_BACK)
    },
  )

  test('a second cluster on the same data folder is refused and does no harm', async () => {
    const second = run({ PORT: String(await freePort()) })
    expect(await ending(second)).toMatchObject({ code: 1, stderr: expect.stringContaining('is in use by process') })
    const [first] = await edges()
    expect(await sendChat(first!.url, await mintGuestKey(first!.url))).toBeTypeOf('string')
  })
})

describe('the end of a cluster', () => {
  test('kill -9 of it leaves nothing running, and the next one starts with the same keys', async () => {
    const supervisor = await start()
    const left = pidsOf(await readCluster())
    const key = await mintGuestKey(`http://127.0.0.1:${port}`)
    await end(supervisor, 'SIGKILL')
    await expect.poll(() => living(left), COMES_BACK).toEqual([])

    const next = await start()
    expect(await sendChat(`http://127.0.0.1:${port}`, key)).toBeTypeOf('string')
    await end(next, 'SIGTERM')
  })

  test('SIGTERM stops everything in order and takes the record along', async () => {
    const supervisor = await start()
    const pids = pidsOf(await readCluster())
    await end(supervisor, 'SIGTERM')
    expect([supervisor.exitCode, supervisor.signalCode]).toEqual([0, null])
    expect(await living(pids)).toEqual([])
    await expect(readCluster()).rejects.toThrow('ENOENT')
  })

  test('a taken port is a plain error before anything is started', async () => {
    const squatter = createServer().listen(port, '127.0.0.1')
    onTestFinished(() => void squatter.close())
    await once(squatter, 'listening')
    const { code, stderr } = await ending(run())
    expect(code).toBe(1)
    expect(stderr).toContain(`PORT  ${port} is taken by another process; set it to a free port`)
    expect(stderr).not.toContain('started')
  })
})

function run(environment: NodeJS.ProcessEnv = {}, ...args: string[]): ChildProcess {
  const own = { NATS_URL: '', REDIS_URL: '', DATABASE_URL: '' }
  const env = { ...process.env, ...own, DATA_DIR: dataDir, PORT: String(port), ...environment }
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env })
  // It ends every process that it started.
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

/** Resolves once the cluster has said that it is ready. */
async function start(...args: string[]): Promise<ChildProcess> {
  const child = run({}, ...(args.length > 0 ? args : ['--edges', '1', '--routers', '1']))
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (said += text))
  await new Promise<void>((resolve, reject) => {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => text.includes('is ready at') && resolve())
    child.once('exit', () => reject(new Error(`the cluster did not start: ${said}`)))
  })
  return child
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

async function ending(child: ChildProcess): Promise<{ code: number | null; stderr: string }> {
  let stderr = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stderr }
}

async function readCluster(): Promise<ClusterFile> {
  return JSON.parse(await readFile(join(dataDir, 'cluster.json'), 'utf8')) as ClusterFile
}

function find({ processes }: ClusterFile, name: string): Running {
  const found = processes.find((running) => running.name === name)
  if (!found?.pid) throw new Error(`${name} does not run`)
  return found
}

async function edges(): Promise<Running[]> {
  return (await readCluster()).processes.filter(({ service }) => service === 'edge')
}

function pidsOf({ processes, fixtures, servers }: ClusterFile): number[] {
  return [...processes, ...fixtures, ...Object.values(servers)].map(({ pid }) => pid)
}

async function living(pids: number[]): Promise<number[]> {
  const times = await Promise.all(pids.map(startTimeOf))
  return pids.filter((_, index) => times[index] !== null)
}

async function mintGuestKey(url: string): Promise<string> {
  const response = await fetch(`${url}/v1/keys/guest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device_id: 'a-laptop' }),
  })
  if (!response.ok) throw new Error(await response.text())
  return ((await response.json()) as { key: string }).key
}

async function sendChat(url: string, apiKey: string): Promise<string | null | undefined> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hello!' }]
  const response = await client.chat.completions.create({ model: 'svc-instant', messages, max_tokens: 20 })
  return response.choices[0]?.message.content
}
