/** Writes `docs/agents.md`: a row for each agent and target, replaced by the run that shows it. */

import type { TargetDialect } from '@gateway/contracts/vendors'
import type { Agent } from './agent.ts'
import { COLUMNS, type Cell, type Row } from './prove-agent.ts'

export interface Result {
  agent: Pick<Agent, 'title' | 'version'>
  target: TargetDialect
  row: Row | { notInstalled: string }
}

const HEADER = ['agent', 'version', 'target', ...COLUMNS]
const BEGIN = '<!-- agents: written by `npm run prove -- agents` -->'
const END = '<!-- end of agents -->'

export function writePage(results: readonly Result[], former: string, day: string): string {
  const fresh = results.map((result) => ({ key: keyOf(result), line: lineOf(result), notes: notesOf(result) }))
  const keys = new Set(fresh.map(({ key }) => key))
  const kept = rowsOf(former).filter(({ key }) => !keys.has(key))
  const lines = [...kept.map(({ line }) => line), ...fresh.map(({ line }) => line)].toSorted()
  const notes = [...notesIn(former, keys), ...fresh.flatMap((one) => one.notes)].toSorted()
  return [
    '# Agents',
    '',
    BEGIN,
    '',
    `Coding agents at work through the gateway, as registries ship them. \`npm run prove -- agents\` writes this page; a name after it runs one agent. Last run: ${day}.`,
    '',
    'The gateway runs as an edge and two routers on real servers. A stand-in for the backend plays the model, in the wire format of the target. A *yes* means:',
    '',
    '- **task done**: eight steps, each run exactly once, and the agent reports the end.',
    '- **tools**: the model read the output of every step.',
    '- **compaction**: the conversation was summed up twice, in the agent’s own way, and the task went on.',
    '- **killed router**: `kill -9` hit the router that waited for the fifth step, and the agent noticed nothing.',
    '- **ledger**: requests and tokens of the account equal those that the backend counted.',
    '- **cut by revoke**: an endless stream ended within three seconds of the revoke, and no later request reached the backend.',
    '',
    "The Agents SDK compacts with `compactionMode: 'input'`, since the gateway stores no responses.",
    '',
    `| ${HEADER.join(' | ')} |`,
    `|${HEADER.map(() => ' --- ').join('|')}|`,
    ...lines,
    '',
    ...(notes.length > 0 ? ['Where a cell says *no*, *n/a* or *not installed*:', '', ...notes, ''] : []),
    END,
    '',
  ].join('\n')
}

const keyOf = ({ agent, target }: Result) => `${agent.title} over ${target}`

function lineOf({ agent, target, row }: Result): string {
  const cells = COLUMNS.map((column) => ('notInstalled' in row ? 'not installed' : shortOf(row[column])))
  return `| ${[agent.title, agent.version, `\`${target}\``, ...cells].join(' | ')} |`
}

const shortOf = (cell: Cell) => cell.split(':')[0]!

function notesOf({ agent, target, row }: Result): string[] {
  const of = `- ${agent.title} over ${target}`
  if ('notInstalled' in row) return [`${of}, not installed: ${row.notInstalled}`]
  return COLUMNS.filter((column) => row[column] !== 'yes').map(
    (column) => `${of}, ${column}: ${row[column].slice(row[column].indexOf(':') + 2)}`,
  )
}

function rowsOf(page: string): { key: string; line: string }[] {
  return page.split('\n').flatMap((line) => {
    const match = /^\| (.+?) \| .+? \| `(\w+)` \|/.exec(line)
    return match ? [{ key: `${match[1]} over ${match[2]}`, line }] : []
  })
}

function notesIn(page: string, replaced: ReadonlySet<string>): string[] {
  return page
    .split('\n')
    .filter((line) => /^- .* over (?:chat|messages|responses),/.test(line))
    .filter((line) => ![...replaced].some((key) => line.startsWith(`- ${key},`)))
}
