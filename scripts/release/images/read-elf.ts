/** What a program of Linux (ELF, 64 bits, little-endian) names to be loaded with it. */

export interface Links {
  /** The loader; libraries name none. */
  interpreter?: string
  /** Names of libraries, such as `libc.so.6`. */
  libraries: string[]
}

const LOAD = 1
const DYNAMIC = 2
const INTERPRETER = 3
const NEEDED = 1n
const STRINGS = 5n

interface Segment {
  type: number
  offset: number
  address: number
  bytes: number
}

export function readLinks(elf: Buffer): Links {
  if (elf.toString('latin1', 0, 6) !== '\x7fELF\x02\x01') throw new Error('this is no ELF file of 64 bits')
  const segments = readSegments(elf)
  const find = (type: number): Segment | undefined => segments.find((segment) => segment.type === type)
  const interpreter = find(INTERPRETER)
  const entries = readDynamic(elf, find(DYNAMIC))
  const strings = entries.find(({ tag }) => tag === STRINGS)?.value ?? 0
  const loaded = segments.find(({ type, address, bytes }) => {
    return type === LOAD && address <= strings && strings < address + bytes
  })
  const start = strings - (loaded?.address ?? 0) + (loaded?.offset ?? 0)
  return {
    ...(interpreter && { interpreter: textAt(elf, interpreter.offset) }),
    libraries: entries.filter(({ tag }) => tag === NEEDED).map(({ value }) => textAt(elf, start + value)),
  }
}

function readSegments(elf: Buffer): Segment[] {
  const table = Number(elf.readBigUInt64LE(32))
  const [entryBytes, count] = [elf.readUInt16LE(54), elf.readUInt16LE(56)]
  return Array.from({ length: count }, (_, index) => {
    const at = table + index * entryBytes
    const number = (offset: number): number => Number(elf.readBigUInt64LE(at + offset))
    return { type: elf.readUInt32LE(at), offset: number(8), address: number(16), bytes: number(32) }
  })
}

function readDynamic(elf: Buffer, segment: Segment | undefined): { tag: bigint; value: number }[] {
  if (!segment) return []
  return Array.from({ length: segment.bytes / 16 }, (_, index) => {
    const at = segment.offset + index * 16
    return { tag: elf.readBigInt64LE(at), value: Number(elf.readBigUInt64LE(at + 8)) }
  })
}

function textAt(elf: Buffer, at: number): string {
  return elf.toString('utf8', at, elf.indexOf(0, at))
}
