/**
 * Archives that depend on their content alone: the same entries give the same bytes on every machine and at every time. All
 * entries belong to root.
 */

import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'

export interface ArchivedFile {
  /** Below the archive's top folder, with forward slashes. */
  path: string
  content: Buffer
  isExecutable?: boolean
}

export interface ArchivedLink {
  path: string
  linkTo: string
}

export interface ArchivedFolder {
  path: string
  folderMode: number
}

export type ArchivedEntry = ArchivedFile | ArchivedLink | ArchivedFolder

const BLOCK_BYTES = 512
const LONGEST_NAME = 100
const LONGEST_PREFIX = 155
const NOTHING = Buffer.alloc(0)

/** A compressed tar with the files below one folder. `modifiedAt`: of every file, in seconds since 1970. */
export function writeTarball(top: string, files: readonly ArchivedFile[], modifiedAt: number): Buffer {
  const below = files.map((file) => ({ ...file, path: `${top}/${file.path}` }))
  return gzipSync(writeTar(below, modifiedAt), { level: 9 })
}

/** A tar of the ustar format, with pax headers for longer paths. */
export function writeTar(entries: readonly ArchivedEntry[], modifiedAt: number): Buffer {
  const sorted = entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const blocks = sorted.flatMap((entry) => writeEntry(entry, modifiedAt))
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)])
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function writeEntry(entry: ArchivedEntry, modifiedAt: number): Buffer[] {
  const { path } = entry
  const linkTo = 'linkTo' in entry ? entry.linkTo : ''
  const content = 'content' in entry ? entry.content : NOTHING
  const place = splitPath(path)
  const linkFits = isPlain(linkTo) && linkTo.length <= LONGEST_NAME
  const records = `${place ? '' : paxRecord('path', path)}${linkFits ? '' : paxRecord('linkpath', linkTo)}`
  const fields = { ...(place ?? { name: 'long', prefix: '' }), linkTo: linkFits ? linkTo : '', ...modeAndType(entry) }
  return [
    ...(records === '' ? [] : paxEntry(records, modifiedAt)),
    header({ ...fields, bytes: content.length, modifiedAt }),
    ...padded(content),
  ]
}

function modeAndType(entry: ArchivedEntry): { mode: number; type: string } {
  if ('linkTo' in entry) return { mode: 0o777, type: '2' }
  if ('folderMode' in entry) return { mode: entry.folderMode, type: '5' }
  return { mode: entry.isExecutable ? 0o755 : 0o644, type: '0' }
}

interface Header {
  name: string
  prefix: string
  linkTo: string
  mode: number
  type: string
  bytes: number
  modifiedAt: number
}

function header({ name, prefix, linkTo, mode, type, bytes, modifiedAt }: Header): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES)
  block.write(name, 0)
  block.write(octal(mode, 7), 100)
  block.write(octal(0, 7), 108)
  block.write(octal(0, 7), 116)
  block.write(octal(bytes, 11), 124)
  block.write(octal(modifiedAt, 11), 136)
  block.write(' '.repeat(8), 148)
  block.write(type, 156)
  block.write(linkTo, 157)
  block.write('ustar\x0000', 257)
  block.write(prefix, 345)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${octal(sum, 6)}\x00 `, 148)
  return block
}

/** What the next header has no room for. */
function paxEntry(records: string, modifiedAt: number): Buffer[] {
  const content = Buffer.from(records)
  const fields = { name: 'pax', prefix: '', linkTo: '', mode: 0o644, type: 'x' }
  return [header({ ...fields, bytes: content.length, modifiedAt }), ...padded(content)]
}

/** A record begins with its own length, digits included. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  const digits = String(bytes + String(bytes).length).length
  return `${bytes + digits}${rest}`
}

function padded(content: Buffer): Buffer[] {
  return [content, Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES)]
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

/** Undefined for a path that a header has no room for. */
function splitPath(path: string): { name: string; prefix: string } | undefined {
  if (!isPlain(path)) return undefined
  if (path.length <= LONGEST_NAME) return { name: path, prefix: '' }
  const cut = path.indexOf('/', path.length - LONGEST_NAME - 1)
  if (cut < 0 || cut > LONGEST_PREFIX) return undefined
  return { name: path.slice(cut + 1), prefix: path.slice(0, cut) }
}

function isPlain(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /^[\x00-\x7f]*$/.test(text)
}
