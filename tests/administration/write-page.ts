/** Writes the generated parts of `docs/administration.md`: the script, and the table of calls. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '@gateway/contracts/administration/operation'
import { operations } from '@gateway/contracts/administration/operations'
import { absentCalls } from '../../services/edge/src/core/absent-calls.ts'
import { fateOf, listSdkCalls } from './sdk-calls.ts'

const SCRIPT = join(import.meta.dirname, 'forty-teams.mjs')

export function writeScript(): string {
  return `\`\`\`js\n${readFileSync(SCRIPT, 'utf8')}\`\`\``
}

/** Calls of the SDK, then ours, then those that the gateway has not. */
export async function writeCalls(): Promise<string> {
  const calls = (await listSdkCalls()).map((call) => ({ call, fate: fateOf(call) }))
  const served = calls.flatMap(({ call, fate }) => (fate.kind === 'row' ? [{ ...fate, sdk: call.name }] : []))
  const ofSdk = new Set(served.map(({ name }) => name))
  const ours = Object.entries<Operation>(operations).filter(([name]) => !ofSdk.has(name))
  const absent = absentCalls.flatMap(({ path, instead }) => {
    const names = calls.flatMap(({ call, fate }) =>
      fate.kind === 'absent' && fate.path === path ? [`\`${call.name}\``] : [],
    )
    return names.length > 0 ? [[names.join(', '), '404', instead]] : []
  })
  return [
    '| Call of the SDK | Here | Differs from OpenAI |',
    '| --- | --- | --- |',
    ...served.map(({ sdk, row }) => rowOf([`\`${sdk}\``, describe(row), row.deviation ?? ''])),
    '',
    '| Call of ours | Here | |',
    '| --- | --- | --- |',
    ...ours.map(([, row]) =>
      rowOf([`\`${row.method} ${row.path}\``, describe(row), row.deviation === 'ours' ? '' : (row.deviation ?? '')]),
    ),
    '',
    '| Calls of the SDK that are absent | | In place of them |',
    '| --- | --- | --- |',
    ...absent.map(rowOf),
  ].join('\n')
}

function describe({ about, access }: Operation): string {
  return access.startsWith('project') ? `${about} (${access})` : about
}

function rowOf(cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
