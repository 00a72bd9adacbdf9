import { createHash } from 'node:crypto'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { startRedis, type Server } from '@gateway/servers/start'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type ScriptConnection } from './connection.ts'
import type { Script } from './script.ts'

const TIMEOUT_MS = 250
/** The timeout of a connection that still waits while the others have given up, however slow the machine. */
const LONG_TIMEOUT_MS = 100 * TIMEOUT_MS

class NotesUnavailableError extends Error {}

const READ = scriptOf(`return { ARGV[1], redis.call('GET', KEYS[1]) }`)
const WRITE = scriptOf(`return { ARGV[1], redis.call('SET', KEYS[1], ARGV[2]) }`)

let server: Server
beforeAll(async () => {
  server = await startRedis({ own: true })
})
afterAll(() => server[Symbol.asyncDispose]())

function scriptOf(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') }
}

function open({ url = server.url, binary = false, timeoutMs = TIMEOUT_MS } = {}): Promise<ScriptConnection> {
  const scripts = [READ, WRITE]
  return connect({ url, timeoutMs, store: 'notes', Unavailable: NotesUnavailableError, scripts, binary })
}

const read = (connection: ScriptConnection) => connection.run(READ, ['note'], [])
const write = (connection: ScriptConnection, text = 'text') => connection.run(WRITE, ['note'], [text])

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

function allCalls(connection: ScriptConnection): Promise<unknown>[] {
  return [read(connection), write(connection), connection.timeMs()]
}

const respondsAgain = (connection: ScriptConnection) => expect.poll(() => errorOf(read(connection))).toBeUndefined()

test('a script gets the epoch before its arguments, and runs in no other incarnation than the expected one', async () => {
  await using connection = await open()
  const epoch = await connection.epoch()
  expect(await write(connection, 'né')).toEqual([epoch, 'OK'])
  expect(await connection.run(READ, ['note'], [], epoch)).toEqual([epoch, 'né'])
  await server.kill()
  await server.restart()
  await respondsAgain(connection)
  expect(await connection.epoch()).not.toBe(epoch)
  const late = connection.run(READ, ['note'], [], epoch)
  await expect(late).rejects.toThrow('the notes store began another incarnation since the state was read')
  await expect(late).rejects.toBeInstanceOf(NotesUnavailableError)
})

test('bytes come as they are where the connection is binary', async () => {
  await using connection = await open({ binary: true })
  const bytes = Buffer.from([0, 0xff, 0xc3])
  await connection.run(WRITE, ['bytes'], [bytes])
  const [, found] = (await connection.run(READ, ['bytes'], [])) as Buffer[]
  expect(found).toEqual(bytes)
})

test('Redis away fails every call while it is away, and is used again when it is back', async () => {
  await using connection = await open()
  await server.kill()
  for (const error of await Promise.all(allCalls(connection).map(errorOf))) {
    expect(error).toBeInstanceOf(NotesUnavailableError)
  }
  await server.restart()
  await respondsAgain(connection)
})

test('a call that was under way when Redis died fails, and says why', async () => {
  await using connection = await open()
  await server.kill('SIGSTOP')
  const calls = Array.from({ length: 50 }, () => errorOf(read(connection)))
  await server.kill('SIGKILL')
  for (const error of await Promise.all(calls)) {
    expect(error).toBeInstanceOf(NotesUnavailableError)
    expect((error as Error).cause).toBeInstanceOf(Error)
  }
  await server.restart()
  await respondsAgain(connection)
})

test('a Redis that hangs fails every call after the time of the call, then at once, and is used again when it wakes', async () => {
  await using connection = await open()
  await using unhurried = await open({ timeoutMs: LONG_TIMEOUT_MS })
  await server.kill('SIGSTOP')
  try {
    let isLongTimeoutOver = false
    const waiting = errorOf(read(unhurried)).finally(() => (isLongTimeoutOver = true))
    for (const error of await Promise.all(allCalls(connection).map(errorOf))) {
      expect(error).toBeInstanceOf(NotesUnavailableError)
      expect(error).toMatchObject({ message: 'the notes store did not answer' })
      // Its own time ended the call, and not the end of the connection, which comes later.
      expect(error).toMatchObject({ cause: { message: expect.stringMatching(/^Redis did not answer within/) } })
    }
    expect(isLongTimeoutOver).toBe(false)
    // The silent connection is given up; nothing piles up behind it.
    await expect.poll(() => errorOf(read(connection))).toMatchObject({ message: 'the notes store is away' })
    const atOnce = await Promise.race([errorOf(read(connection)), setImmediate('it is asked')])
    expect(atOnce).toMatchObject({ message: 'the notes store is away' })
    await server.kill('SIGCONT')
    expect(await waiting).toBeUndefined()
  } finally {
    await server.kill('SIGCONT')
  }
  await respondsAgain(connection)
})

test('a process that stood still for longer than it waits for Redis takes the replies that came meanwhile', async () => {
  await using connection = await open()
  const calls = Promise.all([read(connection), connection.timeMs()])
  standStill(1_500)
  await expect(calls).resolves.toHaveLength(2)
  await expect(read(connection)).resolves.toBeDefined()
})

/** Blocks, as a suspended process does, or one that gets no time. */
function standStill(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs)
}

test('a process may start before its Redis', async () => {
  await server.kill()
  await using connection = await open()
  const error = await errorOf(read(connection))
  expect(error).toBeInstanceOf(NotesUnavailableError)
  expect((error as Error).cause).toMatchObject({ code: 'ECONNREFUSED' })
  await server.restart()
  await respondsAgain(connection)
})

test('scripts that Redis has forgotten are sent again', async () => {
  await using connection = await open()
  const operator = new Redis(server.url)
  await operator.script('FLUSH')
  expect(await write(connection)).toEqual([await connection.epoch(), 'OK'])
  operator.disconnect()
})

test('a replica never gets a call', async () => {
  await using replica = await startRedis({ own: true })
  await using connection = await open({ url: replica.url })
  await write(connection)
  const operator = new Redis(replica.url)
  await operator.replicaof('127.0.0.1', 1)
  expect(await errorOf(write(connection))).toBeInstanceOf(NotesUnavailableError)
  await delay(200)
  expect(await errorOf(read(connection))).toBeInstanceOf(NotesUnavailableError)
  await operator.replicaof('NO', 'ONE')
  await respondsAgain(connection)
  operator.disconnect()
})

test('after closing, calls fail and nothing reconnects', async () => {
  const connection = await open()
  await connection[Symbol.asyncDispose]()
  expect(await errorOf(read(connection))).toBeInstanceOf(NotesUnavailableError)
})
