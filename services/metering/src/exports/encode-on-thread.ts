/**
 * Encodes a part on a thread of its own, since a page takes a tenth of a second, and `npm start` serves requests on this one. The rows
 * go there a few at a time, and other work of this process comes between. A thread that dies fails the part, which is written again.
 */

import { on } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { ExportConfig } from '@gateway/contracts/exports'
import type { Entry } from './core/entries.ts'
import type { EncodedPart, Pages } from './encode-part.ts'
import type { EncodeReply, EncodeRequest } from './encode-worker.ts'

/** Node copies them for the other thread within a turn of the event loop. */
export const ROWS_A_TURN = 50

export async function encodeOnThread(
  { format, columns }: Pick<ExportConfig, 'format' | 'columns'>,
  pages: Pages,
): Promise<EncodedPart> {
  const worker = new Worker(new URL('./encode-worker.ts', import.meta.url), {
    name: 'exports',
    workerData: { format, columns },
  })
  const replies = on(worker, 'message', { close: ['exit'] })
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
  const send = (request: EncodeRequest) => worker.postMessage(request)
  async function receive(): Promise<EncodeReply> {
    const { done, value } = await replies.next()
    if (done) throw new Error('the thread that encodes an export has ended')
    return (value as [EncodeReply])[0]
  }

  async function sendPage(page: readonly Entry[]): Promise<void> {
    for (let start = 0; start < page.length; start += ROWS_A_TURN) {
      send({ kind: 'rows', entries: page.slice(start, start + ROWS_A_TURN) })
      await nextTurn()
    }
    send({ kind: 'page' })
  }

  try {
    for await (const page of pages) {
      await sendPage(page)
      // One page at a time is in memory.
      await receive()
    }
    send({ kind: 'end' })
    const reply = await receive()
    if (reply.kind !== 'part') throw new Error('the thread that encodes an export has lost count of its pages')
    return reply.part
  } finally {
    await worker.terminate()
  }
}
