/** A way to a server of one's own, which can be listened in on and closed for good. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface Observer {
  readonly url: string
  /** Returns the bytes that were sent through it to the server. */
  sent(): string
  close(): void
}

export async function openObserver(serverUrl: string): Promise<Observer> {
  const { protocol, port } = new URL(serverUrl)
  const sockets = new Set<Socket>()
  const sent: Buffer[] = []
  const observer = createServer((inside) => {
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
    inside.on('data', (bytes: Buffer) => {
      // Commands are short; bodies need not be kept.
      if (bytes.length < 1_000) sent.push(bytes)
    })
    inside.pipe(outside)
    outside.pipe(inside)
  })
  observer.listen(0, '127.0.0.1')
  await once(observer, 'listening')
  const address = observer.address()
  if (address === null || typeof address === 'string') throw new Error('a tap without a port')
  return {
    url: `${protocol}//127.0.0.1:${address.port}`,
    sent: () => Buffer.concat(sent).toString('latin1'),
    close() {
      observer.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
