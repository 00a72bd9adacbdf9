/**
 * The Lua scripts, read once at start. Each is the shared prelude followed by one file, so that a script is one EVALSHA
 * and its logic is written once.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface Script {
  readonly source: string
  readonly sha1: string
}

const FOLDER = new URL('../lua/', import.meta.url)

export const scripts = {
  admit: compose('prelude', 'admit'),
  finish: compose('prelude', 'finish'),
  renew: compose('prelude', 'renew'),
  authenticate: compose('prelude', 'authenticate'),
  fill: compose('prelude', 'account', 'fill'),
  deactivate: compose('prelude', 'account', 'deactivate'),
  settle: compose('prelude', 'settle'),
  inspect: compose('prelude', 'inspect'),
  recount: compose('prelude', 'recount'),
}

export type ScriptName = keyof typeof scripts

/** The keys of an account, in the order in which the prelude names them. All lie in the slot of the tag. */
export function accountKeys(account: string): string[] {
  const tag = `adm:{${account}}:`
  return [`${tag}account`, `${tag}use`, `${tag}leases`, `${tag}log`]
}

function compose(...parts: string[]): Script {
  return composeScript(FOLDER, parts)
}

export function readPart(name: string): string {
  return readLua(FOLDER, name)
}

/** One script of several files in a folder. */
export function composeScript(folder: URL, parts: string[]): Script {
  const source = parts.map((part) => readLua(folder, part)).join('\n')
  return { source, sha1: createHash('sha1').update(source).digest('hex') }
}

function readLua(folder: URL, name: string): string {
  return readFileSync(new URL(`${name}.lua`, folder), 'utf8')
}
