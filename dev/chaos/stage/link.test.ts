import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Link, openLink } from './link.ts'

let stack: AsyncDisposableStack
let link: Link
/** The far end of the latest connection, and the bytes received there. */
let far: Socket
let receivedAtFarEnd: string

/** The server at the far end echoes everything. */
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  const echo = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    socket.pipe(socket)
    far = socket
    receivedAtFarEnd = ''
    socket.on('data', (bytes) => (receivedAtFarEnd += bytes.toString()))
  })
  echo.listen(0, '127.0.0.1')
  await once(echo, 'listening')
  stack.defer(() => void echo.close())
  link = stack.use(await openLink({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port }))
})
afterEach(() => stack.disposeAsync())

async function open(): Promise<{ socket: Socket; seen(): string; closed: Promise<unknown> }> {
  const socket = connect(link.port, '127.0.0.1')
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), closed])
  stack.defer(() => void socket.destroy())
  return { socket, seen: () => text, closed }
}

test('untouched, everything passes, and so does the end', async () => {
  const { socket, seen } = await open()
  const large = 'x'.repeat(1_000_000)
  socket.end(large)
  await once(socket, 'end')
  expect(seen()).toBe(large)
})

test('cut, connections break and none can be made; healed, they can', async () => {
  const { closed } = await open()
  link.cut()
  await closed
  const another = await open()
  await another.closed
  link.heal()
  const healed = await open()
  healed.socket.write('hello')
  await expect.poll(healed.seen).toBe('hello')
})

test('muted, nothing passes and nothing is lost', async () => {
  const { socket, seen } = await open()
  link.mute()
  socket.write('hello')
  await sleep(150)
  expect(seen()).toBe('')
  link.heal()
  await expect.poll(seen).toBe('hello')
})

test('muted, a new connection is made and nothing passes on it either', async () => {
  link.mute()
  const { socket, seen } = await open()
  socket.write('hello')
  await sleep(150)
  expect(seen()).toBe('')
  link.heal()
  await expect.poll(seen).toBe('hello')
})

test('muted outward, a client receives but its bytes do not arrive; cut then, they are lost', async () => {
  const { socket, seen, closed } = await open()
  socket.write('before ')
  await expect.poll(seen).toBe('before ')
  link.muteOutward()
  socket.write('lost')
  far.write('meanwhile')
  await expect.poll(seen).toBe('before meanwhile')
  link.cut()
  await closed
  link.heal()
  expect(receivedAtFarEnd).toBe('before ')
})

test('slowed, everything comes later and in order, also when it is healed meanwhile', async () => {
  const { socket, seen } = await open()
  link.slow(150)
  const sentAtMs = performance.now()
  socket.write('a')
  await sleep(10)
  link.heal()
  socket.write('b')
  await expect.poll(seen, { interval: 5 }).toBe('ab')
  expect(performance.now() - sentAtMs).toBeGreaterThanOrEqual(145)
})
