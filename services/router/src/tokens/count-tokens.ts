/**
 * Counts tokens where a backend did not, and reads texts from the tokens that a client sends. The tokenizers' tables are
 * large and slow to load, so they live in a worker thread that starts at first need. After any failure there, a count
 * goes by length and is never an error; texts cannot be guessed, so their failure is reported.
 */

import { Worker } from 'node:worker_threads'
import type { WorkerRequest, WorkerReply } from './count-worker.ts'

export interface TokenCounter {
  count(text: string): Promise<number>
  /** The texts of these tokens by cl100k_base. */
  textsOf(inputs: number[][]): Promise<string[]>
  /** From now on every count is one by length, those under way included. */
  close(): Promise<void>
}

const CHARACTERS_PER_TOKEN = 4
/** No response waits longer. */
const RESPONDED_WITHIN_MS = 10_000

type CountRequest = { text: string } | { inputs: number[][] }

export function openTokenCounter(): TokenCounter {
  let worker: Worker | null = null
  let isClosed = false
  let lastId = 0
  /** By the request's id; null: there is no response. */
  const waiting = new Map<number, (reported: WorkerReply | null) => void>()

  function start(): Worker {
    const started = new Worker(new URL('./count-worker.ts', import.meta.url))
    started.unref()
    started.on('message', (reported: WorkerReply) => waiting.get(reported.id)?.(reported))
    started.on('error', giveUp)
    started.on('exit', giveUp)
    return started
  }

  function giveUp(): void {
    worker = null
    for (const finish of waiting.values()) finish(null)
  }

  async function callWorker(request: CountRequest): Promise<WorkerReply | null> {
    if (isClosed) return null
    worker ??= start()
    const id = ++lastId
    return new Promise((resolve) => {
      const finish = (reported: WorkerReply | null) => {
        clearTimeout(timer)
        waiting.delete(id)
        resolve(reported)
      }
      const timer = setTimeout(() => finish(null), RESPONDED_WITHIN_MS)
      waiting.set(id, finish)
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
      worker?.postMessage({ id, ...request } satisfies WorkerRequest)
    })
  }

  return {
    async count(text) {
      if (text === '') return 0
      const reported = await callWorker({ text })
      return reported && 'tokens' in reported ? reported.tokens : countByLength(text)
    },
    async textsOf(inputs) {
      const reported = await callWorker({ inputs })
      if (!reported || !('texts' in reported)) throw new Error('the tokens of an embeddings request could not be read')
      return reported.texts
    },
    async close() {
      isClosed = true
      const ended = worker?.terminate()
      giveUp()
      await ended
    },
  }
}

export function countByLength(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}
