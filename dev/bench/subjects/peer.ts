/**
 * A peer that runs already. Its owner has started and configured it, and names it with `--peer`.
 *
 * The bench reads the CPU of the processes that the option names, and of no others. It neither starts nor stops the peer.
 * Each failure names its remedy, in the option, in the peer's configuration or in the peer itself.
 */

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from '@gateway/service/report-fatal'
import type { Endpoint } from '../harness/load.ts'
import { listens } from '../harness/program.ts'
import type { Subject } from './subject.ts'

export interface Peer {
  name: string
  endpoint: Endpoint
  /** Empty: its CPU stays unknown. */
  pids: number[]
}

const FORM =
  'write --peer "name=http://127.0.0.1:8081/v1,authorization: Bearer …", and behind it, as needed, further headers, ' +
  'model=<its name for the model bench> and pid=<process>, each after a comma'
const NAME = /^[A-Za-z0-9][A-Za-z0-9 .-]{0,39}$/
const HEADER = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+): *([\x20-\x7e]*)$/
/** The load generator opens plain connections to this machine alone. */
const LOOPBACK = new Set(['127.0.0.1', 'localhost'])
const MODEL = 'bench'

/** Throws a UsageError that says which part is malformed. */
export function parsePeer(option: string): Peer {
  const split = option.indexOf('=')
  const name = option.slice(0, Math.max(0, split)).trim()
  // The rest may hold a key, which no log should.
  const malformed = (problem: string) => new UsageError(`--peer ${name}=…: ${problem}; ${FORM}`)
  if (!NAME.test(name)) throw malformed('it does not begin with a name of letters, digits, blanks, dots and dashes')
  const [address = '', ...pieces] = option
    .slice(split + 1)
    .split(',')
    .map((piece) => piece.trim())
  const { port, path } = readAddress(address, malformed)
  const peer: Peer = { name, endpoint: { ports: [port], path, model: MODEL, headers: {} }, pids: [] }
  for (const [index, piece] of pieces.entries()) {
    const [, header, value = ''] = HEADER.exec(piece) ?? []
    const [, pid] = /^pid=([1-9]\d*)$/.exec(piece) ?? []
    const [, model] = /^model=(\S+)$/.exec(piece) ?? []
    if (header !== undefined) peer.endpoint.headers[header.toLowerCase()] = value
    else if (pid !== undefined) peer.pids.push(Number(pid))
    else if (model !== undefined) peer.endpoint.model = model
    else throw malformed(`part ${index + 1} behind the address is neither a header nor model= nor pid=`)
  }
  return peer
}

function readAddress(address: string, malformed: (problem: string) => UsageError) {
  const url = URL.parse(address)
  if (url?.protocol !== 'http:' || !LOOPBACK.has(url.hostname))
    throw malformed(`"${address}" is no address http://127.0.0.1:<port> of this machine`)
  const base = url.pathname.replace(/\/+$/, '')
  return { port: Number(url.port || 80), path: `${base || '/v1'}/chat/completions` }
}

/** Throws a UsageError where two have one name. */
export function requireNames(peers: readonly Peer[], subjects: readonly Subject[]): void {
  const taken = new Set(subjects.map(({ name }) => name))
  for (const { name } of peers) {
    if (taken.has(name)) throw new UsageError(`--peer ${name}=…: the bench has a subject of this name; choose another`)
    taken.add(name)
  }
}

export function peerSubject(peer: Peer): Subject {
  const { name, endpoint, pids } = peer
  return {
    name,
    async prepare() {
      if (!(await listens(endpoint.ports[0]!)))
        throw new Error(`nothing listens at ${urlOf(peer)}: start ${name}, or correct --peer`)
      const processes = processesOf(peer)
      const counted = Object.keys(processes).join(', ')
      return {
        description:
          `configured and started by its owner, at ${urlOf(peer)}; ` +
          (pids.length > 0 ? `CPU of ${counted}` : 'its CPU is unknown, as --peer named no pid'),
        async launch(backendPort, launchSignal) {
          await requireReply(peer, backendPort, launchSignal)
          return { endpoint, processes: () => processes, [Symbol.asyncDispose]: async () => {} }
        },
      }
    },
  }
}

export function urlOf({ endpoint: { ports, path } }: Peer): string {
  return `http://127.0.0.1:${ports[0]}${path}`
}

/** Where a peer has to send the model of the bench. */
export function backendUrl(port: number): string {
  return `http://127.0.0.1:${port}/v1`
}

function processesOf({ name, pids }: Peer): Record<string, number> {
  return Object.fromEntries(
    pids.map((pid) => {
      const command = commandOf(pid)
      if (command === undefined) throw new Error(`${name}: no process has pid=${pid}; name a running one in --peer`)
      return [`${command} ${pid}`, pid]
    }),
  )
}

function commandOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** The text that the bench's backend gives, a part of which every reply must hold. */
const BACKENDS_WORDS = 'the quick brown fox'
const ORDER = 'bench chunks=1 every_us=0 first_us=0 bytes=200.'
const RECOVERS_WITHIN_MS = 30_000
const PAUSE_MS = 500
const EXCERPT = 200

interface Reply {
  /** Null: the connection broke. */
  status: number | null
  text: string
}

/** A peer whose backend was away may avoid it for a while. */
async function requireReply(peer: Peer, backendPort: number, signal: AbortSignal): Promise<void> {
  const deadlineAtMs = Date.now() + RECOVERS_WITHIN_MS
  let reply = await requestOnce(peer, signal)
  while ((reply.status === null || reply.status >= 500) && Date.now() < deadlineAtMs) {
    await sleep(PAUSE_MS, undefined, { signal })
    reply = await requestOnce(peer, signal)
  }
  const problem = problemOf(reply)
  if (problem === undefined) return
  throw new Error(
    `${peer.name} ${problem}. Name its key as a header in --peer, and let its model ` +
      `${peer.endpoint.model} lead to the model ${MODEL} at ${backendUrl(backendPort)}`,
  )
}

function problemOf({ status, text }: Reply): string | undefined {
  if (status === null) return `broke off: ${text}`
  if (status !== 200) return `replied ${status}: ${text.slice(0, EXCERPT)}`
  return text.includes(BACKENDS_WORDS) ? undefined : `did not reply from the bench's backend: ${text.slice(0, EXCERPT)}`
}

async function requestOnce(peer: Peer, signal: AbortSignal): Promise<Reply> {
  const { model, headers } = peer.endpoint
  try {
    const response = await fetch(urlOf(peer), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: ORDER }], max_tokens: 1_000 }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(RECOVERS_WITHIN_MS)]),
    })
    return { status: response.status, text: await response.text() }
  } catch (error) {
    signal.throwIfAborted()
    const { cause = error } = error as Error
    return { status: null, text: String(cause) }
  }
}
