/**
 * Runs llama.cpp's own server with the small model, on a free port of loopback.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { freePort } from '@gateway/embedded-postgres/free-port'

export const MODEL = 'gemma-3-270m'
/** Of its vectors. */
export const DIMENSIONS = 640
export const CONTEXT_TOKENS = 1_024

export interface LlamaServer extends AsyncDisposable {
  /** With its version. */
  readonly url: string
  /** The number of responses that it generates. */
  generating(): Promise<number>
  kill(): Promise<void>
}

interface Options {
  slots?: number
  embeddings?: boolean
  /** Says the likeliest words, and ends before it writes a question of its own. */
  chats?: boolean
  /** Of each slot. */
  contextTokens?: number
}

/**
 * Two threads wait for each other at every step. Beside other busy processes on two cores they write 5 tokens a second,
 * instead of 60; one thread writes 44 alone.
 */
const THREADS = ['--threads', '1', '--threads-batch', '1']

/** The model was never trained to chat, so a template shows it how a tool is called. */
const TEMPLATE = join(import.meta.dirname, 'continue-examples.jinja')

export async function startLlama(options: Options = {}): Promise<LlamaServer> {
  const { slots = 2, embeddings = false, chats = false, contextTokens = CONTEXT_TOKENS } = options
  const port = await freePort()
  const root = `http://127.0.0.1:${port}`
  const args = ['--model', variable('LLAMA_MODEL'), '--alias', MODEL, '--host', '127.0.0.1', '--port', String(port)]
  const sizes = ['--parallel', String(slots), '--ctx-size', String(contextTokens * slots), ...THREADS]
  const kind = embeddings ? ['--embeddings', '--pooling', 'mean'] : ['--jinja', '--chat-template-file', TEMPLATE]
  const manners = chats ? ['--temp', '0', '--reverse-prompt', 'user:'] : []
  const child = spawn(variable('LLAMA_SERVER'), [...args, ...sizes, ...kind, ...manners, '--no-warmup'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  dieWithParent(child)
  let output = ''
  child.stderr.on('data', (bytes: Buffer) => (output = (output + bytes.toString()).slice(-4_096)))
  await ready(root, child, () => output)
  return {
    url: `${root}/v1`,
    async generating() {
      const slots = (await (await fetch(`${root}/slots`)).json()) as { is_processing: boolean }[]
      return slots.filter((slot) => slot.is_processing).length
    },
    kill: () => end(child, 'SIGKILL'),
    [Symbol.asyncDispose]: () => end(child, 'SIGKILL'),
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

const READY_WITHIN_MS = 120_000

async function ready(root: string, child: ChildProcess, output: () => string): Promise<void> {
  const deadlineMs = performance.now() + READY_WITHIN_MS
  while (performance.now() < deadlineMs) {
    if (child.exitCode !== null || child.signalCode !== null) break
    const reply = await fetch(`${root}/health`).catch(() => null)
    if (reply?.ok) return
    await delay(50)
  }
  child.kill('SIGKILL')
  throw new Error(`llama-server did not start:\n${output()}`)
}

function variable(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: run npm run prove backends`)
  return value
}
