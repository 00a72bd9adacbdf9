/** The messages of a version: its schemas, and one golden message for each kind. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ZodType } from 'zod'
import type { Version } from './versions.ts'

/** By row of `bus-roles.ts` and part. */
type Golden = Record<string, Record<string, object[]>>

type Procedures = Record<string, { messages: Record<string, ZodType> }>

export interface Messages {
  schemaOf(row: string, part: string): ZodType | undefined
  golden: Golden
}

export async function readMessages({ folder, isCompiled }: Version): Promise<Messages> {
  const contracts = join(folder, 'packages/contracts/src')
  const load = (name: string): Promise<unknown> => import(join(contracts, `${name}.${isCompiled ? 'js' : 'ts'}`))
  // Version 0.1.0 has them under its own name.
  const { procedures, talks: formerProcedures } = (await load('bus-roles')) as Record<string, Procedures | undefined>
  const known = procedures ?? formerProcedures
  if (!known) throw new Error(`${contracts} has no table of procedures`)
  const { keptHead } = (await load('idempotency')) as { keptHead: ZodType }
  const rows: Procedures = { ...known, keptAnswers: { messages: { head: keptHead } } }
  return {
    schemaOf: (row, part) => rows[row]?.messages[part],
    golden: JSON.parse(await readFile(join(contracts, 'golden-messages.json'), 'utf8')) as Golden,
  }
}

/** Kinds of replies that only a caller gets whose request says that it reads them. */
const ON_REQUEST = new Set(['keysMint.reply suspended', 'keysMintGuest.reply suspended'])

/** `row.part` of every message that these schemas refuse. Nobody sends a version a message that it has no row for. */
export function unreadBy({ schemaOf }: Messages, golden: Golden): string[] {
  return Object.entries(golden).flatMap(([row, parts]) =>
    Object.entries(parts).flatMap(([part, messages]) => {
      const schema = schemaOf(row, part)
      const sent = messages.filter(
        (one) => !ON_REQUEST.has(`${row}.${part} ${String((one as { kind?: unknown }).kind)}`),
      )
      return sent.filter((one) => schema?.safeParse(one).success === false).map(() => `${row}.${part}`)
    }),
  )
}
