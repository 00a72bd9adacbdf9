import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { startNats } from '@gateway/servers/start'
import { expect, test } from 'vitest'
import { connectNats } from './wire.ts'

test('a server that accepts and says nothing keeps no connection of ours, however often it is dialled', async () => {
  await using nats = await startNats({ own: true })
  const silent = new Set<Socket>()
  let dials = 0
  let speaking: Socket | undefined
  // The first connection reaches the server; all others reach nobody.
  const proxy = createServer((socket) => {
    socket.on('error', () => {})
    if (speaking === undefined) {
      speaking = socket
      const { port } = new URL(nats.url)
      const behind = connect(Number(port), '127.0.0.1').on('error', () => {})
      socket.pipe(behind).pipe(socket)
      return
    }
    dials++
    silent.add(socket)
    socket.resume().on('close', () => silent.delete(socket))
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const connection = await connectNats(`nats://127.0.0.1:${(proxy.address() as AddressInfo).port}`, 'x', () => {})
  speaking!.destroy()
  await expect.poll(() => dials).toBeGreaterThan(2)
  await expect.poll(() => silent.size).toBe(1)
  await connection.close()
  await expect.poll(() => silent.size).toBe(0)
  proxy.close()
})
