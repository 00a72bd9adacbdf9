/**
 * A Lua script of several files, read once at start: what scripts share is written once, and each is one EVALSHA.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface Script {
  readonly source: string
  readonly sha1: string
}

/** One script of several files in a folder. */
export function composeScript(folder: URL, parts: string[]): Script {
  const source = parts.map((part) => readPart(folder, part)).join('\n')
  return { source, sha1: createHash('sha1').update(source).digest('hex') }
}

export function readPart(folder: URL, name: string): string {
  return readFileSync(new URL(`${name}.lua`, folder), 'utf8')
}
