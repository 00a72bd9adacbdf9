/**
 * Draws a real PNG of any size from a seed: two waves through a palette of three colours. Indexed colour keeps a
 * 1024x1024 picture at 1 MiB before compression, which takes a few milliseconds off the main thread.
 */

import { crc32, deflate } from 'node:zlib'
import { promisify } from 'node:util'
import { randomFrom } from './seeded.ts'

const compress = promisify(deflate)
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const INDEXED_COLOUR = 3

export async function drawPng(width: number, height: number, seed: string): Promise<Buffer> {
  const random = randomFrom(seed)
  const palette = drawPalette(random)
  const pixels = await compress(drawPixels(width, height, random), { level: 1 })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, INDEXED_COLOUR, 0, 0, 0], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** One byte per pixel, each row with its filter byte (0: none) in front. */
function drawPixels(width: number, height: number, random: () => number): Buffer {
  const columns = wave(width, random)
  const rows = wave(height, random)
  const pixels = Buffer.alloc((width + 1) * height)
  for (let y = 0, at = 0; y < height; y++) {
    at++
    const row = rows[y]!
    for (let x = 0; x < width; x++) pixels[at++] = columns[x]! + row
  }
  return pixels
}

function wave(length: number, random: () => number): Uint8Array {
  const turns = 0.5 + random() * 1.5
  const phase = random() * 2 * Math.PI
  return Uint8Array.from({ length }, (_, at) => 63 + 63 * Math.sin(phase + (turns * 2 * Math.PI * at) / length))
}

function drawPalette(random: () => number): Buffer {
  const [first, middle, last] = Array.from({ length: 3 }, () => Array.from({ length: 3 }, () => random() * 255))
  const palette = Buffer.alloc(256 * 3)
  for (let index = 0; index < 256; index++) {
    const [from, to, share] = index < 128 ? [first!, middle!, index / 128] : [middle!, last!, (index - 128) / 128]
    for (let part = 0; part < 3; part++) palette[index * 3 + part] = from[part]! * (1 - share) + to[part]! * share
  }
  return palette
}

function chunk(type: string, data: Buffer): Buffer {
  const framed = Buffer.alloc(data.length + 12)
  framed.writeUInt32BE(data.length, 0)
  framed.write(type, 4, 'latin1')
  framed.set(data, 8)
  framed.writeUInt32BE(crc32(framed.subarray(4, data.length + 8)), data.length + 8)
  return framed
}
