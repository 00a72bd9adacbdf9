/**
 * Exports to real S3-compatible storage.
 */

import { gunzipSync } from 'node:zlib'
import { exportsSection } from '@gateway/contracts/exports'
import { type PostgresServer, startPostgres } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { consumeUsage } from '../services/metering/src/consumers/usage.ts'
import { writeExport } from '../services/metering/src/exports/keep-exports.ts'
import { openBucket, placeOf } from '../services/metering/src/exports/s3.ts'
import { readParquet, summarize, summarizeLedger, type ExportedRow } from '../services/metering/test/exported.ts'
import { openLedger, type TestLedger } from '../services/metering/test/ledger.ts'
import { CREDENTIALS, startStorage, type Storage } from './exports/seaweedfs.ts'
import { messageOf, usageEvent } from '../services/metering/test/usage-events.ts'

let postgres: PostgresServer
let storage: Storage
let ledger: TestLedger
let bucket: string
let buckets = 0
beforeAll(async () => {
  ;[postgres, storage] = await Promise.all([startPostgres(), startStorage()])
}, 300_000)
afterAll(async () => {
  await postgres?.[Symbol.asyncDispose]()
  await storage?.[Symbol.asyncDispose]()
})
beforeEach(async () => {
  ledger = await openLedger(postgres)
  bucket = `exports-${++buckets}`
  await storage.request('PUT', `/${bucket}`)
  vi.stubEnv('AWS_ACCESS_KEY_ID', CREDENTIALS.accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', CREDENTIALS.secretAccessKey)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await ledger[Symbol.asyncDispose]()
})

const NOW_MS = Date.parse('2025-01-12T12:00:00Z')
const running = new AbortController().signal
const configOf = (given: object = {}) =>
  exportsSection.parse([
    { to: `s3://${bucket}/billing/gateway`, format: 'ndjson', endpoint: storage.url, allowPrivate: true, ...given },
  ])[0]!
const write = (config = configOf()) =>
  writeExport(
    { database: ledger.database, logger: ledger.logger, now: () => NOW_MS, environment: {}, mostRows: 40 },
    config,
    { holder: 'one', stopping: running },
  )
const consume = (count: number) =>
  consumeUsage(ledger, [messageOf(...Array.from({ length: count }, () => usageEvent()))])

async function readObjects(): Promise<Summary> {
  const rows: ExportedRow[] = []
  for (const key of await storage.list(bucket)) {
    const { body } = await storage.request('GET', `/${bucket}/${key}`)
    for (const line of gunzipSync(body).toString().trim().split('\n')) {
      rows.push({ ...(JSON.parse(line) as ExportedRow), file: key })
    }
  }
  return summarize(rows)
}
type Summary = ReturnType<typeof summarize>

test('each row of the ledger is in the bucket once, below the prefix, by day', async () => {
  for (let page = 0; page < 4; page++) await consume(30)
  await write()
  const keys = await storage.list(bucket)
  expect(keys[0]).toBe('billing/gateway/day=2025-01-10/part-00000001.ndjson.gz')
  expect(await readObjects()).toEqual(await summarizeLedger(ledger.database))
})

test('a file of Parquet comes back from the bucket as another library reads it', async () => {
  await consume(30)
  await write(configOf({ format: 'parquet' }))
  const [key] = await storage.list(bucket)
  const { body } = await storage.request('GET', `/${bucket}/${key}`)
  const rows = await readParquet(body)
  expect(rows.reduce((sum, row) => sum + (row['charge'] as bigint), 0n)).toBe(30n * 150_000n)
})

test('while the storage is away nothing is lost, and the rows follow when it is back', async () => {
  await consume(30)
  await storage.stop()
  await expect(write()).rejects.toThrow()
  await storage.restart()
  await write()
  expect(await readObjects()).toEqual(await summarizeLedger(ledger.database))
})

describe('the storage refuses', () => {
  test('another secret, and the error names the reason without the secret', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'another-secret')
    await consume(1)
    const failure = await write().catch((error: Error) => error.message)
    expect(failure).toContain('the storage replied 403 SignatureDoesNotMatch')
    expect(failure).not.toContain('another-secret')
    expect(await storage.list(bucket)).toEqual([])
  })

  test('a bucket that does not exist', async () => {
    await consume(1)
    await expect(write(configOf({ to: 's3://no-such-bucket/x' }))).rejects.toThrow(
      /the storage replied 404 NoSuchBucket/,
    )
  })
})

test('an endpoint at a private address gets nothing, unless the config allows it', async () => {
  await consume(1)
  await expect(write(configOf({ allowPrivate: false }))).rejects.toThrow('127.0.0.1, which is not public')
  expect(await storage.list(bucket)).toEqual([])
})

test('names with spaces and other letters arrive as they are', async () => {
  const destination = openBucket(configOf({ to: `s3://${bucket}/Abteilung%20S%C3%BCd+1/x` }), {})
  await destination.write('day=2025-01-10/part-00000001.parquet', Buffer.from('content'))
  expect(await storage.list(bucket)).toEqual(['Abteilung Süd+1/x/day=2025-01-10/part-00000001.parquet'])
})

test.each([
  [{ to: 's3://acme' }, {}, 'https://acme.s3.us-east-1.amazonaws.com', '/'],
  [{ to: 's3://acme/a/b/' }, { AWS_REGION: 'eu-central-1' }, 'https://acme.s3.eu-central-1.amazonaws.com', '/a/b/'],
  [{ to: 's3://acme.example/a' }, {}, 'https://s3.us-east-1.amazonaws.com', '/acme.example/a/'],
  [
    { to: 's3://acme/a' },
    { AWS_ENDPOINT_URL_S3: 'https://minio.example:9000/s3/' },
    'https://minio.example:9000',
    '/s3/acme/a/',
  ],
  [{ to: 's3://acme/a', endpoint: 'https://r2.example', pathStyle: false }, {}, 'https://acme.r2.example', '/a/'],
  [
    { to: 's3://acme', endpoint: 'https://r2.example' },
    { AWS_ENDPOINT_URL: 'https://other.example' },
    'https://r2.example',
    '/acme/',
  ],
])('%j with %j is at %s%s', (config, environment, origin, prefix) => {
  const place = placeOf({ endpoint: undefined, region: undefined, pathStyle: undefined, ...config }, environment)
  expect(place).toMatchObject({ origin, prefix })
})
