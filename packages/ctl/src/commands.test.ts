/** The operator's requests against the commands that send them, and the commands against the README. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Argument, Command } from 'commander'
import { procedures, type Procedure } from '@gateway/contracts/bus-roles'
import { expect, test } from 'vitest'
import { program } from './program.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8')
const sources = readdirSync(import.meta.dirname).filter((file) => !file.endsWith('.test.ts'))

test('every request that the bus leaves to operators has a command', () => {
  const questions = Object.entries<Procedure>(procedures).filter(
    ([, { kind, from }]) => kind === 'question' && from.includes('ctl'),
  )
  const requested = new Set(
    sources.flatMap((file) => Array.from(read(file).matchAll(/\.request\('(\w+)'/g), ([, name]) => name!)),
  )
  expect([...requested].toSorted()).toEqual(questions.map(([name]) => name).toSorted())
})

const README = join(import.meta.dirname, '../README.md')
const TABLE = /(?<=<!-- commands: .* -->\n).*(?=\n<!-- \/commands -->)/s

/** A row for the command, and for each of its subcommands. */
function rowsOf(command: Command, path: string[] = []): string[] {
  const name = [...path, command.name()]
  const words = [...name, ...command.registeredArguments.map(argumentOf)].join(' ')
  const row = `| \`${words.replaceAll('|', '\\|')}\` | ${command.description().replaceAll(/[|<]/g, '\\$&')} |`
  return [row, ...command.commands.flatMap((inner) => rowsOf(inner, name))]
}

const argumentOf = (argument: Argument) => (argument.required ? `<${argument.name()}>` : `[${argument.name()}]`)

test('the README names every command', async () => {
  const rows = program.commands.flatMap((command) => rowsOf(command))
  expect(rows.length).toBeGreaterThan(10)
  const table = ['| Command | Effect |', '| --- | --- |', ...rows].join('\n')
  await expect(readFileSync(README, 'utf8').replace(TABLE, () => table)).toMatchFileSnapshot(README)
})
