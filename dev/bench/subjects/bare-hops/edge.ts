/**
 * The hop of an edge without its work: it sends each request to the router, and writes the pieces of the response. The end waits
 * until JetStream has a record of the request.
 *
 *     node edge.ts <port> <NATS' URL>
 */

import { createServer, type ServerResponse } from 'node:http'
import { connect } from '@nats-io/transport-node'
import { kinds, readFrames } from './frames.ts'

const [port, natsUrl] = process.argv.slice(2)
const nats = await connect({ servers: natsUrl! })
const inbox = `edge.${process.pid}`
const open = new Map<number, ServerResponse>()
let last = 0

await nats.request(
  '$JS.API.STREAM.CREATE.USAGE',
  JSON.stringify({ name: 'USAGE', subjects: ['usage'], storage: 'file' }),
)
nats.subscribe(inbox, {
  callback: (_error, { data }) =>
    readFrames(data, (number, kind, bytes) => {
      const response = open.get(number)
      if (response === undefined) return
      if (kind === kinds.head) response.writeHead(200, JSON.parse(bytes.toString()) as Record<string, string>)
      else if (kind === kinds.data) response.write(bytes)
      else void end(number, response)
    }),
})

async function end(number: number, response: ServerResponse): Promise<void> {
  open.delete(number)
  await nats.request('usage', JSON.stringify({ number, account: 'one', tokens: 10 }))
  response.end()
}

createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const number = ++last
    open.set(number, response)
    nats.publish('jobs', Buffer.concat(pieces), { reply: `${inbox}.${number}` })
  })
}).listen(Number(port), '127.0.0.1')
