/**
 * `npm run prove -- agents [name…]`: installs coding agents as registries ship them, outside the repository. It runs each
 * through a gateway of real processes, on a target of every dialect, and writes `docs/agents.md`. Without names it runs
 * all; `details` runs `tests/coding-tools` instead.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { targetDialects } from '@gateway/contracts/vendors'
import { reportFatal } from '@gateway/service/report-fatal'
import type { Agent } from './agent.ts'
import { runDetails } from './details.ts'
import { writePage, type Result } from './page.ts'
import { COLUMNS, proveAgent } from './prove-agent.ts'
import { openStage, type Stage } from './stage.ts'
import { agentsSdk } from './tools/agents-sdk.ts'
import { aider } from './tools/aider.ts'
import { claudeCode } from './tools/claude-code.ts'
import { codex, codexBuiltIn } from './tools/codex.ts'
import { opencode } from './tools/opencode.ts'

const AGENTS = [claudeCode, codex, codexBuiltIn, agentsSdk, opencode, aider]
const PAGE = join(import.meta.dirname, '../../../docs/agents.md')

try {
  const [first, ...words] = process.argv.slice(2)
  if (first === 'details') process.exitCode = await runDetails(words)
  else await proveNamed(first === undefined ? [] : [first, ...words])
} catch (error) {
  reportFatal(error)
}

async function proveNamed(wanted: readonly string[]): Promise<void> {
  const unknown = wanted.find((name) => !AGENTS.some((agent) => agent.name === name))
  if (unknown === undefined) await prove(AGENTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name)))
  else {
    console.error(`${unknown} is not one of ${AGENTS.map(({ name }) => name).join(', ')}`)
    process.exitCode = 2
  }
}

async function prove(agents: readonly Agent[]): Promise<void> {
  const results: Result[] = []
  await using stage = await openStage()
  for (const agent of agents) results.push(...(await proveOnAll(agent, stage)))
  const former = await readFile(PAGE, 'utf8').catch(() => '')
  await writeFile(PAGE, writePage(results, former, new Date().toISOString().slice(0, 10)))
  const fails = results.filter(({ row }) => 'notInstalled' in row || COLUMNS.some((name) => row[name].startsWith('no')))
  if (fails.length > 0) process.exitCode = 1
}

async function proveOnAll(agent: Agent, stage: Stage): Promise<Result[]> {
  const failure = await agent.install().then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message.split('\n')[0]! : String(error)),
  )
  const results: Result[] = []
  for (const target of targetDialects) {
    const row = failure === null ? await proveAgent(agent, target, stage) : { notInstalled: failure }
    console.log(`${agent.title} ${agent.version} over ${target}: ${JSON.stringify(row)}`)
    results.push({ agent, target, row })
  }
  return results
}
