/** The bus over TLS, as operators run it: the certificate's authority is one that this process trusts. */

import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { startNats, type Server } from '@gateway/servers/start'
import { createOwnAuthority } from '@gateway/testing/own-authority'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventStream } from '../conformance/adapters.ts'
import { dispatchJob, patterned, serveJobs, text, until, allBytes } from '../conformance/recorded-responses.ts'
import { openNatsBus } from '../nats.ts'
import type { BusStatus } from '../port.ts'

const MiB = 1024 * 1024
/** More than the one buffer that a connection reads into, and no multiple of it. */
const SIZES = [1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 700_001]

const stack = new AsyncDisposableStack()
let folder: string
let server: Server
let url: string
let certificate: string
const trusted = getCACertificates('default')

/** A server with a certificate of its own. */
async function startWithTls(name: string): Promise<{ server: Server; certificate: string }> {
  const own = createOwnAuthority()
  const [certificateFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
  await writeFile(certificateFile, own.certificate)
  await writeFile(keyFile, own.key)
  const accounts = `tls { cert_file: ${JSON.stringify(certificateFile)}, key_file: ${JSON.stringify(keyFile)} }
authorization { user: edge, password: "s3cret" }`
  return { server: stack.use(await startNats({ own: true, accounts })), certificate: own.certificate }
}

const secureUrl = ({ url: plain }: Server, host = '127.0.0.1') => `tls://edge:s3cret@${host}:${new URL(plain).port}`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bus-tls-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const started = await startWithTls('trusted')
  server = started.server
  certificate = started.certificate
  url = secureUrl(server)
  setDefaultCACertificates([...trusted, certificate])
})
afterAll(async () => {
  setDefaultCACertificates(trusted)
  await stack.disposeAsync()
})

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test.each(['127.0.0.1', 'localhost'])('requests and replies of every size travel by %s', async (host) => {
  await using worker = await openNatsBus({ url: secureUrl(server, host), name: 'worker' })
  await using caller = await openNatsBus({ url: secureUrl(server, host), name: 'caller' })
  await using _ = await worker.serve('echo', 'servers', async (payload) => payload)
  for (const [seed, size] of SIZES.entries()) {
    const payload = patterned(size, seed)
    expect(digest(await caller.request('echo', payload, { timeoutMs: 10_000 }))).toBe(digest(payload))
  }
})

test('many streams of several MB at once come whole, in both directions', async () => {
  await using router = await openNatsBus({ url, name: 'router' })
  await using edge = await openNatsBus({ url, name: 'edge' })
  await using _ = await serveJobs(router, 'job.a', async (job) => {
    job.accept()
    const body = Buffer.from(await job.body())
    job.head(text(digest(body)))
    for (let at = 0; at < body.length; at += 50_001) await job.data(body.subarray(at, at + 50_001))
    job.end(text('whole'))
  })
  const bodies = Array.from({ length: 4 }, (_of, seed) => patterned(5 * MiB + seed, seed))
  const responses = bodies.map((body) => dispatchJob(edge, { subject: 'job.a', body }))
  for (const [index, response] of responses.entries()) {
    expect(await response.over).toBe('end whole')
    expect(response.log).toContain(`head ${digest(bodies[index]!)}`)
    expect(digest(allBytes(response))).toBe(digest(bodies[index]!))
  }
})

test('durable events are stored and consumed, also after the server was away', async () => {
  const statuses: BusStatus[] = []
  const onStatus = (status: BusStatus) => void statuses.push(status)
  await using bus = await openNatsBus({ url, name: 'metering', streams: [eventStream], onStatus })
  const consumed: string[] = []
  await bus.durable.consume({
    stream: 'EVENTS',
    subject: 'events.>',
    consumer: 'ledger',
    maxBatch: 10,
    handler: async (batch) => void consumed.push(...batch.map(({ payload }) => digest(payload))),
  })
  const events = Array.from({ length: 12 }, (_of, seed) => patterned(900_000 + seed, seed))
  const publish = async (some: Buffer[]) => {
    for (const event of some) await bus.durable.publish('events.a', event, { timeoutMs: 20_000 })
  }
  await publish(events.slice(0, 6))
  await server.kill()
  await until(() => statuses.some(({ type }) => type === 'disconnected'))
  await server.restart()
  await publish(events.slice(6))
  await until(() => new Set(consumed).size === events.length)
  expect(new Set(consumed)).toEqual(new Set(events.map(digest)))
})

test.each<[string, RegExp, () => Promise<string>]>([
  ['whose authority nobody here knows', /certificate/, async () => secureUrl((await startWithTls('stranger')).server)],
  ['that speaks no TLS', /does not support 'tls'/, async () => secureUrl(stack.use(await startNats({ own: true })))],
])('a server %s is refused, and the log says why', async (_, why, start) => {
  const address = await start()
  const statuses: BusStatus[] = []
  const opening = openNatsBus({ url: address, name: 'x', onStatus: (status) => void statuses.push(status) })
  let isOpen = false
  void opening.then(
    () => (isOpen = true),
    () => {},
  )
  await until(() => statuses.length >= 2)
  expect(isOpen).toBe(false)
  for (const status of statuses)
    expect(status).toMatchObject({ type: 'connecting', error: { message: expect.stringMatching(why) } })
})
