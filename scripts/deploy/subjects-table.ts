/**
 * ARCHITECTURE.md with its table of subjects, written from the contract's table of procedures.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BusRole, type Procedure, procedures } from '@gateway/contracts/bus-roles'
import { groups } from '@gateway/contracts/subjects'

export const ARCHITECTURE_PATH = join(import.meta.dirname, '../../ARCHITECTURE.md')

const [BEGIN, END] = ['<!-- subjects: written by `npm run write deploy` -->\n', '<!-- /subjects -->\n']

export function withSubjects(architecture = readFileSync(ARCHITECTURE_PATH, 'utf8')): string {
  const [before, rest] = halves(architecture, BEGIN)
  const [, after] = halves(rest, END)
  const rows = Object.values<Procedure>(procedures).map(
    (procedure) => `| \`${subjectOf(procedure)}\` | ${routeOf(procedure)} | ${procedure.about} |\n`,
  )
  return `${before}${BEGIN}| Subject | From → to | What |\n| --- | --- | --- |\n${rows.join('')}${END}${after}`
}

function halves(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  if (at < 0) throw new Error(`ARCHITECTURE.md has lost its line ${mark}`)
  return [text.slice(0, at), text.slice(at + mark.length)]
}

function subjectOf({ subject, from, to }: Procedure): string {
  if (typeof subject === 'string') return subject
  return subject(String(from) === String(to) ? '<process>' : '<pool>')
}

function routeOf({ kind, from, to }: Procedure): string {
  const [sender, receiver] = [from.map(nameOf).join(', '), to.map(nameOf).join(', ')]
  switch (kind) {
    case 'job':
    case 'question':
      return `${sender} → one of ${to.map(groupOf).join(', ')}`
    case 'news':
      return `${sender} → every ${receiver}`
    case 'kept':
      return `${sender} → JetStream → ${receiver}`
    case 'event':
      return `${sender} → JetStream → ${receiver}`
  }
}

function groupOf(role: BusRole): string {
  return role === 'ctl' ? 'operators' : groups[role]
}

function nameOf(role: BusRole): string {
  return role === 'ctl' ? 'operator' : role
}
