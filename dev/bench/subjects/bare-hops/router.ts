/**
 * The hop of a router without its work: it takes requests from NATS, sends them to the backend, and the pieces of the responses back.
 * The first piece leaves at once, the others gather for 5 ms with those of all responses.
 *
 *     node router.ts <port that says it is ready> <NATS' URL> <backend's port>
 */

import { createServer } from 'node:net'
import { connect } from '@nats-io/transport-node'
import { Pool } from 'undici'
import { CHAT_PATH } from '../subject.ts'
import { type Kind, kinds, writeFrame } from './frames.ts'

const GATHER_MS = 5
const MESSAGE_BYTES = 64 * 1024

const [port, natsUrl, backendPort] = process.argv.slice(2)
const nats = await connect({ servers: natsUrl! })
const pool = new Pool(`http://127.0.0.1:${backendPort}`, { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
const outgoing = new Map<string, Buffer[]>()
let bytesGathered = 0
let timer: NodeJS.Timeout | undefined

nats.subscribe('jobs', {
  queue: 'routers',
  callback: (_error, { data, reply = '' }) => {
    const dot = reply.lastIndexOf('.')
    serve(data, reply.slice(0, dot), Number(reply.slice(dot + 1)))
  },
})

createServer().listen(Number(port), '127.0.0.1')

function serve(body: Uint8Array, edge: string, number: number): void {
  const piece = (kind: Kind, bytes: Uint8Array, atOnce: boolean) => send(edge, writeFrame(number, kind, bytes), atOnce)
  let hasBegun = false
  pool.dispatch(
    { method: 'POST', path: CHAT_PATH, headers: { 'content-type': 'application/json' }, body },
    {
      onRequestStart() {},
      onResponseStart(_controller, _status, headers) {
        piece(kinds.head, Buffer.from(JSON.stringify({ 'content-type': headers['content-type'] })), false)
      },
      onResponseData(_controller, bytes) {
        piece(kinds.data, bytes, !hasBegun)
        hasBegun = true
      },
      onResponseEnd: () => piece(kinds.end, Buffer.alloc(0), true),
      onResponseError: () => piece(kinds.end, Buffer.alloc(0), true),
    },
  )
}

function send(edge: string, frame: Buffer, atOnce: boolean): void {
  const frames = outgoing.get(edge)
  if (frames) frames.push(frame)
  else outgoing.set(edge, [frame])
  bytesGathered += frame.length
  if (bytesGathered >= MESSAGE_BYTES) flush()
  else if (atOnce) setImmediate(flush)
  else timer ??= setTimeout(flush, GATHER_MS)
}

function flush(): void {
  clearTimeout(timer)
  timer = undefined
  bytesGathered = 0
  for (const [edge, frames] of outgoing) nats.publish(edge, Buffer.concat(frames))
  outgoing.clear()
}
