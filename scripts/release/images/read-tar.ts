/** The entries of a tar that another program wrote: ustar, with the long paths of pax and of GNU. */

export interface ReadEntry {
  path: string
  /** As the format has it: `0` a file, `2` a link, `5` a folder. */
  type: string
  content: Buffer
}

const BLOCK_BYTES = 512

export function* readTar(bytes: Buffer): Generator<ReadEntry> {
  let longPath: string | undefined
  for (let at = 0; at + BLOCK_BYTES <= bytes.length && bytes[at] !== 0;) {
    const header = bytes.subarray(at, at + BLOCK_BYTES)
    const length = Number.parseInt(textAt(header, 124, 12), 8)
    const content = bytes.subarray(at + BLOCK_BYTES, at + BLOCK_BYTES + length)
    const type = textAt(header, 156, 1) || '0'
    at += BLOCK_BYTES * (1 + Math.ceil(length / BLOCK_BYTES))
    if (type === 'x') longPath = paxPath(content) ?? longPath
    else if (type === 'L') longPath = textAt(content, 0, length)
    else if (type !== 'g' && type !== 'K') {
      const prefix = textAt(header, 257, 6) === 'ustar' ? textAt(header, 345, 155) : ''
      const path = longPath ?? `${prefix}${prefix === '' ? '' : '/'}${textAt(header, 0, 100)}`
      longPath = undefined
      yield { path: path.replace(/^\.?\//, '').replace(/\/$/, ''), type, content }
    }
  }
}

function paxPath(content: Buffer): string | undefined {
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(content.toString())?.[1]
}

function textAt(bytes: Buffer, start: number, length: number): string {
  const text = bytes.toString('utf8', start, start + length)
  const end = text.indexOf('\0')
  return end < 0 ? text : text.slice(0, end)
}
