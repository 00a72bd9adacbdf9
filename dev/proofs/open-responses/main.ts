/**
 * `npm run prove open-responses`: runs the acceptance suite of Open Responses against a gateway in front of simulated
 * backends of each dialect, and prints a table. It fetches the suite at a fixed commit and says so; `--suite <folder>`
 * takes a checkout, `--repository <url>` another source of the commit. Exits with 1 unless every test passed.
 */

import { parseArgs } from 'node:util'
import { reportFatal } from '@gateway/service/report-fatal'
import { openGateway, TARGETS } from './gateway.ts'
import { findSuite, type Suite, type SuiteResult } from './suite.ts'

const REPOSITORY = 'https://github.com/openresponses/openresponses'

try {
  const { values } = parseArgs({
    options: { suite: { type: 'string' }, repository: { type: 'string', default: REPOSITORY } },
  })
  const suite = await findSuite(values.suite, values.repository)
  const results = await proveAll(suite)
  process.stdout.write(`${tableOf(suite, results)}\n${faultsOf(results)}`)
  const isProven = [...results.values()].every((one) => one.every(({ status }) => status === 'passed'))
  process.exitCode = isProven ? 0 : 1
} catch (error) {
  reportFatal(error)
}

/** Each target's results, in the order of the suite. */
type Results = Map<string, SuiteResult[]>

async function proveAll(suite: Suite): Promise<Results> {
  await using gateway = await openGateway()
  const results: Results = new Map()
  for (const { model } of TARGETS) {
    const settings = { baseUrl: `${gateway.url}/v1`, apiKey: gateway.key, model, runtime: 'server' as const }
    const config = { ...settings, authHeaderName: 'Authorization', useBearerPrefix: true }
    results.set(model, await suite.runAllTests(config, () => {}))
  }
  return results
}

function tableOf({ testTemplates: templates }: Suite, results: Results): string {
  const columns = TARGETS.map(({ title }) => title)
  const rows = templates.map(({ id, name }) => [name, ...TARGETS.map(({ model }) => statusOf(results, model, id))])
  const passed = TARGETS.map(({ model }) => {
    const count = results.get(model)!.filter(({ status }) => status === 'passed').length
    return `${count} of ${templates.length}`
  })
  return [['Test', ...columns], columns.concat('').map(() => '---'), ...rows, ['Passed', ...passed]]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

function statusOf(results: Results, model: string, id: string): string {
  return results.get(model)!.find((one) => one.id === id)?.status ?? 'missing'
}

function faultsOf(results: Results): string {
  const failed = [...results].flatMap(([model, each]) => {
    return each.filter(({ status }) => status !== 'passed').map((result) => ({ model, ...result }))
  })
  return failed
    .map(({ model, name, errors = [] }) => `\n${model}, ${name}:\n${errors.map((error) => `  ${error}\n`).join('')}`)
    .join('')
}
