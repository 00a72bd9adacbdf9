/** A refusal reaches its client in the backend's words, also where the backend compresses them without a request for it. */

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const SAID = Buffer.from(JSON.stringify({ error: { message: 'no such role', code: 'bad_role', param: 'messages' } }))

const refuses = (encoding: string, body: Buffer): Reply => {
  return (response) =>
    response.writeHead(400, { 'content-type': 'application/json', 'content-encoding': encoding }).end(body)
}

async function refusalOf(reply: Reply) {
  const a = await backend(reply)
  const { failure } = await (await router(poolOver([a.url]))).sendRequest()
  expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
  return failure!
}

describe('a lone 400', () => {
  test.each<[string, Buffer]>([
    ['gzip', gzipSync(SAID)],
    ['x-gzip', gzipSync(SAID)],
    ['GZIP', gzipSync(SAID)],
    ['deflate', deflateSync(SAID)],
    ['deflate', deflateRawSync(SAID)],
    ['br', brotliCompressSync(SAID)],
    ['zstd', zstdCompressSync(SAID)],
    ['identity', SAID],
    ['gzip, br', brotliCompressSync(gzipSync(SAID))],
  ])('packed by %s keeps its words', async (encoding, body) => {
    expect((await refusalOf(refuses(encoding, body))).backendBody).toContain('no such role')
  })

  test.each<[string, string, Buffer]>([
    ['an encoding that nobody knows', 'rot13', SAID],
    ['bytes that do not have the encoding of their header', 'gzip', SAID],
    ['half of them', 'br', brotliCompressSync(SAID).subarray(0, 20)],
    ['five layers', Array.from({ length: 5 }, () => 'gzip').join(', '), SAID],
  ])('with %s is reported without them', async (_, encoding, body) => {
    expect((await refusalOf(refuses(encoding, body))).backendBody).toBeUndefined()
  })

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['gzip', (bytes) => gzipSync(bytes)],
    ['deflate', (bytes) => deflateSync(bytes)],
    ['br', (bytes) => brotliCompressSync(bytes)],
    ['zstd', (bytes) => zstdCompressSync(bytes)],
  ])('that would unpack to 64 MiB by %s is not unpacked', async (encoding, pack) => {
    const bomb = pack(Buffer.concat([SAID.subarray(0, -1), Buffer.alloc(64 * 1024 * 1024, ' '), Buffer.from('}')]))
    const before = process.memoryUsage().arrayBuffers
    expect((await refusalOf(refuses(encoding, bomb))).backendBody).toBeUndefined()
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024)
  })
})
