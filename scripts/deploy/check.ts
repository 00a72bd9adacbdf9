/**
 * The part of `npm run check` that checks deploy/, offline. The chart lints and renders as reviewed, and a cluster accepts every
 * manifest with all its fields. All references of the compose file exist.
 */

import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { brokenRules } from './chart-rules.ts'
import { goldenPath, goldenText, lint, render, valueSets } from './chart.ts'
import { problemsOfCompose } from './compose-rules.ts'
import { NATS_USERS_PATH, natsUsersFile } from './nats-users.ts'
import { problemsOf, readManifests } from './validate-manifests.ts'

const problems: string[] = []
expectFile(NATS_USERS_PATH, natsUsersFile())
for (const set of valueSets) {
  try {
    lint(set)
    const rendered = render(set)
    const manifests = readManifests(rendered)
    const found = [...problemsOf(manifests), ...brokenRules(manifests)]
    problems.push(...found.map((problem) => `deploy/values/${set}.yaml: ${problem}`))
    expectFile(goldenPath(set), goldenText(rendered))
    console.log(`${set}: ${manifests.length} manifests`)
  } catch (error) {
    problems.push(`deploy/values/${set}.yaml: ${error instanceof Error ? error.message : String(error)}`)
  }
}
const composeFile = join(import.meta.dirname, '../../docker-compose.yml')
problems.push(
  ...problemsOfCompose(readFileSync(composeFile, 'utf8')).map((problem) => `docker-compose.yml: ${problem}`),
)
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1

function expectFile(path: string, content: string): void {
  if (readIfThere(path) === content) return
  problems.push(
    `${relative(process.cwd(), path)} is not what is written now: run npm run write deploy, and look at the difference`,
  )
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
