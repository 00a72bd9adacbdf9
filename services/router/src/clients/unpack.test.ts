import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unpack } from './unpack.ts'

const PACKERS: [string, (bytes: Uint8Array) => Buffer][] = [
  ['identity', (bytes) => Buffer.from(bytes)],
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
]
const MOST = 4_096

test('any text in up to three layers is read, and nothing that is larger than allowed', async () => {
  const layers = fc.array(fc.constantFrom(...PACKERS), { minLength: 1, maxLength: 3 })
  const text = fc.string({ minLength: 1, maxLength: 2 * MOST, size: 'max', unit: 'grapheme' })
  await fc.assert(
    fc.asyncProperty(text, layers, async (said, packers) => {
      const bytes = Buffer.from(said)
      const packed = packers.reduce<Buffer>((inner, [, pack]) => pack(inner), bytes)
      const read = await unpack(packed, packers.map(([name]) => name).join(', '), MOST)
      if (bytes.length <= MOST && packed.length <= MOST) expect(read.equals(bytes)).toBe(true)
      if (packers.some(([name]) => name !== 'identity')) expect(read.length).toBeLessThanOrEqual(MOST)
    }),
    { numRuns: 200 },
  )
})

test('bytes that are nothing are nothing, in every encoding', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...PACKERS.slice(1)), async (bytes, [name]) => {
      expect((await unpack(Buffer.from(bytes), name, MOST)).length).toBeLessThanOrEqual(MOST)
    }),
  )
})
