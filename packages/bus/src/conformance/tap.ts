/** A way to a server of one's own, which can be listened in on and closed for good. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface Tap {
  readonly url: string
  /** What was sent through it to the server. */
  sent(): string
  close(): void
}

export async function openTap(serverUrl: string): Promise<Tap> {
  const { protocol, port } = new URL(serverUrl)
  const sockets = new Set<Socket>()
  const sent: Buffer[] = []
  const tap = createServer((inside) => {
    const outside = connect(Number(port), '127.0.0.1')
    for (const socket of [inside, outside]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        inside.destroy()
        outside.destroy()
      })
    }
    inside.on('data', (bytes) => {
      // Commands are short; bodies need not be kept.
      if (bytes.length < 1_000) sent.push(bytes)
    })
    inside.pipe(outside)
    outside.pipe(inside)
  })
  tap.listen(0, '127.0.0.1')
  await once(tap, 'listening')
  const address = tap.address()
  if (address === null || typeof address === 'string') throw new Error('a tap without a port')
  return {
    url: `${protocol}//127.0.0.1:${address.port}`,
    sent: () => Buffer.concat(sent).toString('latin1'),
    close() {
      tap.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
