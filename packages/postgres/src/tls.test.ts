/** `sslmode=verify-full` as operators run it, on a real server with a certificate of its own authority. */

import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { createOwnAuthority, type OwnAuthority } from '@gateway/testing/own-authority'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openDatabase, type Database } from './database.ts'

const stack = new AsyncDisposableStack()
const trusted = getCACertificates('default')
const own = createOwnAuthority()
/** A folder of files with an authority, which an address can name. */
let folder: string
let server: PostgresServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postgres-tls-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  server = await startWithTls(own)
})
afterAll(() => stack.disposeAsync())

/** The server writes the files itself: it refuses a key that is not its account's alone. */
async function startWithTls({ certificate, key }: OwnAuthority): Promise<PostgresServer> {
  const started = stack.use(await startPostgres({ own: true }))
  await using database = await openDatabase(started.url, { poolSize: 1 })
  const write = (file: string, text: string) => {
    const lines = `string_to_array('${text.trim()}', E'\\n')`
    return database.query(`COPY (SELECT unnest(${lines})) TO PROGRAM 'umask 077 && cat > ${file}'`)
  }
  await write('server.crt', certificate)
  await write('server.key', key)
  await database.query('ALTER SYSTEM SET ssl = on')
  await database.query('SELECT pg_reload_conf()')
  const isOn = async () => (await database.query<{ ssl: string }>('SHOW ssl')).rows[0]!.ssl === 'on'
  await vi.waitUntil(isOn, { timeout: 10_000 })
  return started
}

async function fileOf({ certificate }: OwnAuthority): Promise<string> {
  const file = join(folder, `${randomUUID()}.crt`)
  await writeFile(file, certificate)
  return file
}

function secureUrl(authorityFile?: string, { url: plain } = server, host = '127.0.0.1'): string {
  const url = new URL(plain)
  url.hostname = host
  url.searchParams.set('sslmode', 'verify-full')
  if (authorityFile) url.searchParams.set('sslrootcert', authorityFile)
  return url.href
}

async function isEncrypted(database: Database): Promise<boolean> {
  const query = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
  return (await database.query<{ ssl: boolean }>(query)).rows[0]!.ssl
}

test.each(['127.0.0.1', 'localhost'])(
  'statements travel encrypted to %s, by an authority in the address',
  async (host) => {
    await using database = await openDatabase(secureUrl(await fileOf(own), server, host))
    expect(await isEncrypted(database)).toBe(true)
    const large = 'läßt '.repeat(200_000)
    const { rows } = await database.query<{ text: string }>('SELECT $1::text AS text', [large])
    expect(rows[0]!.text === large).toBe(true)
  },
)

test('an authority that the process trusts needs no file in the address', async () => {
  setDefaultCACertificates([...trusted, own.certificate])
  try {
    await using database = await openDatabase(secureUrl())
    expect(await isEncrypted(database)).toBe(true)
  } finally {
    setDefaultCACertificates(trusted)
  }
})

test('a pool comes back encrypted after its connections were cut', async () => {
  await using database = await openDatabase(secureUrl(await fileOf(own)), { poolSize: 2 })
  await using other = await openDatabase(server.url, { poolSize: 1 })
  await other.query('SELECT pg_terminate_backend(pid) FROM pg_stat_ssl WHERE ssl')
  await expect.poll(() => isEncrypted(database).catch(() => false)).toBe(true)
})

const elsewhere = createOwnAuthority('elsewhere.test')
test.each<[string, RegExp, () => Promise<string>]>([
  ['whose authority nobody here knows', /self-signed certificate/, async () => secureUrl()],
  ['of another authority than the named one', /certificate/, async () => secureUrl(await fileOf(createOwnAuthority()))],
  [
    'whose certificate is for another host',
    /not in the cert's list/,
    async () => secureUrl(await fileOf(elsewhere), await startWithTls(elsewhere)),
  ],
  [
    'that speaks no TLS',
    /does not support SSL connections/,
    async () => secureUrl(await fileOf(own), stack.use(await startPostgres({ own: true }))),
  ],
])('a server %s is refused, and the error says why and not the password', async (_, why, address) => {
  const url = await address()
  const refusal = await openDatabase(url).then(
    () => null,
    (error: Error) => error,
  )
  expect(refusal?.message).toMatch(why)
  expect(refusal?.message).toContain(new URL(url).host)
  expect(refusal?.message).not.toContain(new URL(url).password)
})
