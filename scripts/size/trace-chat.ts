/**
 * Finds the product's files that one streamed chat runs through, over all processes of a real cluster.
 *
 * Each process counts the calls of its functions (`preload.mjs`). Several separate chats alternate with idle times of the
 * same length. A file counts when one of its functions ran for every chat, each time more often than in any idle time. So
 * a heartbeat, a poll or a timer that fires during some of the chats does not count.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** Long enough for the usage to reach the ledger and for the limits to be settled. */
const CHAT_MS = 4_000
const CHATS = 5
const WARM_UPS = 5
const POLL_MS = 50
const START_MS = 120_000

interface Cluster {
  url: string
  pids: number[]
}

/** By file and the offset of a function in it. */
type Calls = Map<string, number>

export async function traceChat(root: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-size-'))
  const child = startCluster(root, folder)
  try {
    const cluster = await readCluster(folder, child)
    const key = await mintGuestKey(cluster.url)
    for (let count = 0; count < WARM_UPS; count++) await chat(cluster.url, key)
    await delay(CHAT_MS)
    let takes = 0
    const callsDuring = async (work?: () => Promise<void>) => {
      await work?.()
      await delay(CHAT_MS)
      return readCalls(folder, cluster.pids, takes++)
    }
    await callsDuring()
    const idle: Calls[] = []
    const busy: Calls[] = []
    for (let count = 0; count < CHATS; count++) {
      idle.push(await callsDuring())
      busy.push(await callsDuring(() => chat(cluster.url, key)))
    }
    return filesOfEvery(busy, idle).map((file) => relative(root, file))
  } finally {
    if (child.exitCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    await rm(folder, { recursive: true, force: true })
  }
}

function startCluster(root: string, folder: string): ChildProcess {
  return spawn('npm', ['run', '--silent', 'start:cluster', '--', '--edges', '1', '--routers', '1'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      // A free one: two checkouts are measured at once.
      PORT: '0',
      DATA_DIR: folder,
      GATEWAY_SIZE_FOLDER: folder,
      NODE_OPTIONS: `--import=${join(import.meta.dirname, 'preload.mjs')}`,
    },
  })
}

/** `cluster.json` names every process once all are ready; its servers and fixtures are no part of the product. */
async function readCluster(folder: string, child: ChildProcess): Promise<Cluster> {
  for (let waitedMs = 0; waitedMs < START_MS && child.exitCode === null; waitedMs += POLL_MS) {
    await delay(POLL_MS)
    const text = await readFile(join(folder, 'cluster.json'), 'utf8').catch(() => undefined)
    if (!text) continue
    const { processes } = JSON.parse(text) as { processes: { service: string; url: string; pid: number | null }[] }
    const edge = processes.find(({ service }) => service === 'edge')
    const ready = await fetch(`${edge?.url}/v1/models`).then(
      (response) => response.ok,
      () => false,
    )
    if (edge && ready && processes.every(({ pid }) => pid)) {
      return { url: edge.url, pids: processes.map(({ pid }) => Number(pid)) }
    }
  }
  throw new Error('the cluster did not start; its log stands above')
}

async function mintGuestKey(url: string): Promise<string> {
  const response = await fetch(`${url}/v1/keys/guest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device_id: 'size' }),
  })
  const { key } = (await response.json()) as { key: string }
  return key
}

async function chat(url: string, key: string): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'svc-instant', stream: true, messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  const text = await response.text()
  if (!text.includes('[DONE]')) throw new Error(`the chat failed with ${response.status}: ${text.slice(0, 300)}`)
}

async function readCalls(folder: string, pids: number[], take: number): Promise<Calls> {
  for (const pid of pids) process.kill(pid, 'SIGUSR2')
  const calls: Calls = new Map()
  for (const pid of pids) {
    const path = join(folder, `${pid}-${take}.json`)
    let text: string | undefined
    while (!(text = await readFile(path, 'utf8').catch(() => undefined))) await delay(POLL_MS)
    for (const [file, startOffset, count] of JSON.parse(text) as [string, number, number][]) {
      const place = `${file}:${startOffset}`
      calls.set(place, (calls.get(place) ?? 0) + count)
    }
  }
  return calls
}

function filesOfEvery(busy: readonly Calls[], idle: readonly Calls[]): string[] {
  const files = new Set<string>()
  for (const place of busy[0]?.keys() ?? []) {
    const mostIdle = Math.max(...idle.map((calls) => calls.get(place) ?? 0))
    if (busy.every((calls) => (calls.get(place) ?? 0) > mostIdle)) files.add(place.slice(0, place.lastIndexOf(':')))
  }
  return [...files].sort()
}
