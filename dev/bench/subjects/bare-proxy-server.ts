/**
 * The cheapest reverse proxy that Node can be, with flow control both ways.
 *
 *     node bare-proxy-server.ts <port> <backend's port>
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Pool } from 'undici'

const [port, backendPort] = process.argv.slice(2)
const pool = new Pool(`http://127.0.0.1:${backendPort}`, { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })

createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => passOn(request, Buffer.concat(pieces), response))
}).listen(Number(port), '127.0.0.1')

function passOn({ method = 'GET', url = '/', headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const { 'content-type': type = 'application/json', accept = '*/*' } = headers
  pool.dispatch(
    { method, path: url, headers: { 'content-type': type, accept }, body },
    {
      onRequestStart(controller) {
        response.on('close', () => {
          if (!response.writableFinished) controller.abort(new Error('the client has gone'))
        })
      },
      onResponseStart(_controller, status, received) {
        response.statusCode = status
        for (const name of ['content-type', 'content-length']) {
          if (received[name] !== undefined) response.setHeader(name, received[name])
        }
      },
      onResponseData(controller, piece) {
        if (response.write(piece)) return
        controller.pause()
        response.once('drain', () => controller.resume())
      },
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    },
  )
}
