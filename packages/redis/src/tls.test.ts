/** `rediss://` as operators run it: the certificate's authority is one that this process trusts. */

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp, type AddressInfo } from 'node:net'
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { startRedis } from '@gateway/servers/start'
import { createOwnAuthority, type OwnAuthority } from '@gateway/testing/own-authority'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { connect, type ScriptConnection } from './connection.ts'

class NotesUnavailableError extends Error {}

const source = `redis.call('SET', KEYS[1], ARGV[2]) return redis.call('GET', KEYS[1])`
const KEEP = { source, sha1: createHash('sha1').update(source).digest('hex') }
const LARGE_BYTES = 5_000_001

const stack = new AsyncDisposableStack()
const trusted = getCACertificates('default')
let port: number
beforeAll(async () => void (port = Number(new URL(stack.use(await startRedis()).url).port)))
afterEach(() => setDefaultCACertificates(trusted))
afterAll(() => stack.disposeAsync())

/** In front of the server, since not every build of it speaks TLS. */
async function openSecure({ key, certificate }: OwnAuthority): Promise<string> {
  const server = createServer({ key, cert: certificate }, (socket) => {
    const behind = connectTcp(port, '127.0.0.1')
    for (const end of [socket, behind])
      end.on('error', () => {}).on('close', () => (socket.destroy(), behind.destroy()))
    socket.pipe(behind).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => void server.close())
  return `rediss://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function open(url: string): Promise<ScriptConnection> {
  return connect({
    url,
    timeoutMs: 2_000,
    store: 'notes',
    Unavailable: NotesUnavailableError,
    scripts: [KEEP],
    binary: true,
  })
}

test('scripts run over TLS, with large arguments and replies', async () => {
  const own = createOwnAuthority()
  setDefaultCACertificates([...trusted, own.certificate])
  await using connection = await open(await openSecure(own))
  const large = Buffer.alloc(LARGE_BYTES, 'läßt')
  for (const text of [Buffer.from('short'), large]) {
    expect(text.equals((await connection.run(KEEP, ['tls-note'], [text])) as Buffer)).toBe(true)
  }
})

test('a server whose authority nobody here knows gets no call', async () => {
  await using connection = await open(await openSecure(createOwnAuthority()))
  await expect(connection.run(KEEP, ['tls-note'], ['text'])).rejects.toBeInstanceOf(NotesUnavailableError)
})
