/**
 * Archives that depend on their content alone: the same files give the same bytes on every machine and at every time.
 */

import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'

export interface ArchivedFile {
  /** Below the archive's top folder, with forward slashes. */
  path: string
  content: Buffer
  isExecutable?: boolean
}

const BLOCK_BYTES = 512
const LONGEST_NAME = 100
const LONGEST_PREFIX = 155

/** A tar of the ustar format, compressed. `modifiedAt`: of every file, in seconds since 1970. */
export function writeTarball(top: string, files: readonly ArchivedFile[], modifiedAt: number): Buffer {
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const blocks = sorted.flatMap((file) => {
    const padding = (BLOCK_BYTES - (file.content.length % BLOCK_BYTES)) % BLOCK_BYTES
    return [header(`${top}/${file.path}`, file, modifiedAt), file.content, Buffer.alloc(padding)]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]), { level: 9 })
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function header(path: string, { content, isExecutable = false }: ArchivedFile, modifiedAt: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES)
  const { name, prefix } = splitPath(path)
  block.write(name, 0)
  block.write(octal(isExecutable ? 0o755 : 0o644, 7), 100)
  block.write(octal(0, 7), 108)
  block.write(octal(0, 7), 116)
  block.write(octal(content.length, 11), 124)
  block.write(octal(modifiedAt, 11), 136)
  block.write(' '.repeat(8), 148)
  block.write('0', 156)
  block.write('ustar\x0000', 257)
  block.write(prefix, 345)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${octal(sum, 6)}\x00 `, 148)
  return block
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

function splitPath(path: string): { name: string; prefix: string } {
  if (path.length <= LONGEST_NAME) return { name: path, prefix: '' }
  const cut = path.indexOf('/', path.length - LONGEST_NAME - 1)
  if (cut < 0 || cut > LONGEST_PREFIX) throw new Error(`${path} is too long for an archive`)
  return { name: path.slice(cut + 1), prefix: path.slice(0, cut) }
}
