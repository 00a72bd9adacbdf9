/**
 * The thread of `encode-on-thread.ts`. It encodes one part and replies to each page, then with the part.
 */

import { on } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import type { ExportConfig } from '@gateway/contracts/exports'
import type { Entry } from './core/entries.ts'
import { type EncodedPart, encodePart } from './encode-part.ts'

export type EncodeRequest = { kind: 'rows'; entries: Entry[] } | { kind: 'page' } | { kind: 'end' }
export type EncodeReply = { kind: 'page' } | { kind: 'part'; part: EncodedPart }

const port = parentPort!

async function* receivePages(): AsyncGenerator<Entry[]> {
  let page: Entry[] = []
  for await (const [request] of on(port, 'message') as AsyncIterable<[EncodeRequest]>) {
    if (request.kind === 'end') return
    if (request.kind === 'rows') page.push(...request.entries)
    else {
      yield page
      page = []
      reply({ kind: 'page' })
    }
  }
}

function reply(message: EncodeReply, moved: ArrayBuffer[] = []): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
  port.postMessage(message, moved)
}

const part = await encodePart(workerData as Pick<ExportConfig, 'format' | 'columns'>, receivePages())
// A copy: small buffers share their memory with others.
const bytes = new Uint8Array(part.bytes)
reply({ kind: 'part', part: { ...part, bytes } }, [bytes.buffer])
