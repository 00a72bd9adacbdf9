/**
 * Counts tokens where a backend did not. The tokenizer's tables are large and slow to load, so they live in a worker
 * thread that starts at first need; whatever goes wrong there, the answer is a count by length, never an error.
 */

import { Worker } from 'node:worker_threads'

export interface TokenCounter {
  count(text: string): Promise<number>
  close(): Promise<void>
}

interface Counted {
  id: number
  tokens: number
}

const CHARACTERS_PER_TOKEN = 4
/** Nobody's answer waits longer for a count. */
const COUNTED_WITHIN_MS = 10_000

export function openTokenCounter(): TokenCounter {
  let worker: Worker | null = null
  let lastId = 0
  const asked = new Map<number, { text: string; answer: (tokens: number) => void }>()

  function start(): Worker {
    const started = new Worker(new URL('./count-worker.ts', import.meta.url))
    started.unref()
    started.on('message', ({ id, tokens }: Counted) => {
      asked.get(id)?.answer(tokens)
    })
    started.on('error', giveUp)
    started.on('exit', giveUp)
    return started
  }

  function giveUp(): void {
    worker = null
    for (const { text, answer } of asked.values()) answer(countByLength(text))
  }

  return {
    count(text) {
      if (text === '') return Promise.resolve(0)
      worker ??= start()
      const id = ++lastId
      return new Promise((answer) => {
        const timer = setTimeout(() => asked.get(id)?.answer(countByLength(text)), COUNTED_WITHIN_MS)
        asked.set(id, {
          text,
          answer(tokens) {
            clearTimeout(timer)
            asked.delete(id)
            answer(tokens)
          },
        })
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
        worker?.postMessage({ id, text })
      })
    },
    async close() {
      await worker?.terminate()
    },
  }
}

export function countByLength(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}
