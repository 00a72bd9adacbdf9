/**
 * A Lua script of several files, read once at start: scripts share files, and each is one EVALSHA.
 *
 * One table names a script's arguments for both sides. In Lua, `keyHash` is the local `KEY_HASH`. Arguments of which a call
 * has several are records: they lie from `RECORDS` on, `RECORD` apart, each field at its offset (`ARGV[at + OF_CHARGE]`).
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface Script {
  readonly source: string
  readonly sha1: string
}

export type Argument = string | number | Buffer

interface NamedScript<Once extends string, Each extends string> extends Script {
  readonly once: readonly Once[]
  readonly each: readonly Each[]
}

/** Before them come the epoch, which the connection adds, and the tests' clock. */
const FIRST = 3

/** One script of several files in a folder. */
export function composeScript<const Once extends string = never, const Each extends string = never>(
  folder: URL,
  parts: string[],
  { once = [], each = [] }: { once?: readonly Once[]; each?: readonly Each[] } = {},
): NamedScript<Once, Each> {
  const source = [nameArguments(once, each), ...parts.map((part) => includeParts(folder, part))].join('\n')
  return { source, sha1: createHash('sha1').update(source).digest('hex'), once, each }
}

/** A line `-- include <name>` stands for another file. So a script creates a function only on the paths that call it. */
export function includeParts(folder: URL, name: string): string {
  return readPart(folder, name).replaceAll(/^ *-- include (\S+)$/gm, (_, part: string) => includeParts(folder, part))
}

function readPart(folder: URL, name: string): string {
  return readFileSync(new URL(`${name}.lua`, folder), 'utf8')
}

/** The arguments of a call in the script's order. */
export function argumentsOf<Once extends string, Each extends string>(
  script: NamedScript<Once, Each>,
  once: Record<Once, Argument>,
  records: readonly Record<Each, Argument>[] = [],
): Argument[] {
  const values = script.once.map((name) => once[name])
  for (const record of records) for (const name of script.each) values.push(record[name])
  return values
}

function nameArguments(once: readonly string[], each: readonly string[]): string {
  const lines = [
    ...once.map((name, index) => `local ${inLua(name)} = ARGV[${FIRST + index}]`),
    ...each.map((name, index) => `local OF_${inLua(name)} = ${index}`),
    `local RECORDS, RECORD = ${FIRST + once.length}, ${each.length}`,
  ]
  return lines.join('\n')
}

function inLua(name: string): string {
  return name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()
}

/** Cuts a call about many things into calls that touch one account each, and keep Redis from others only shortly. */
export function portionsByAccount<Item extends { account: string }>(
  items: readonly Item[],
  atOnce: number,
): [account: string, portion: Item[]][] {
  return [...Map.groupBy(items, ({ account }) => account)].flatMap(([account, held]) => {
    const starts = Array.from({ length: Math.ceil(held.length / atOnce) }, (_, index) => index * atOnce)
    return starts.map((start): [string, Item[]] => [account, held.slice(start, start + atOnce)])
  })
}
