/**
 * `npm run start:cluster -- --edges 2 --routers 2`.
 */

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { tryIt } from '@gateway/local/own-command'
import { readInteger } from '@gateway/service/plain-number'
import { UsageError, reportFatal } from '@gateway/service/report-fatal'
import { stopSignal } from '@gateway/service/stop-signal'
import { startCluster } from './start.ts'

const MAX_OF_A_KIND = 16
const USAGE = `npm run start:cluster -- [--edges 2] [--routers 2], each up to ${MAX_OF_A_KIND}
Environment: docs/configuration.md`

try {
  const { values } = parseArgs({
    options: {
      edges: { type: 'string', default: '2' },
      routers: { type: 'string', default: '2' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(`${USAGE}\n`)
    process.exit(0)
  }
  // From the first moment: a signal that comes while it starts is obeyed once it has.
  const stopped = stopSignal()
  const dataDir = resolve(process.env['DATA_DIR'] || './data')
  const say = (line: string) => void process.stderr.write(`${line}\n`)
  await using cluster = await startCluster({
    edges: integer('--edges', values.edges, 1, MAX_OF_A_KIND),
    routers: integer('--routers', values.routers, 1, MAX_OF_A_KIND),
    dataDir,
    port: integer('PORT', process.env['PORT'] || '8080', 0, 65_535),
    ...(process.env['HOST'] && { host: process.env['HOST'] }),
    log: say,
  })
  announce(cluster.edges, cluster.issuer, dataDir)
  const signal = await stopped
  say(`${signal}: stopping in order (once more: at once)`)
} catch (error) {
  reportFatal(error)
}

function integer(name: string, text: string, least: number, most: number): number {
  const number = readInteger(text)
  if (number !== null && number >= least && number <= most) return number
  throw new UsageError(`${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`)
}

function announce([url = '', ...others]: string[], issuer: string, dataDir: string): void {
  process.stdout.write(`
Model Gateway is ready at ${[url, ...others].join(' and ')}
  console        ${process.env['CONSOLE_URL'] || `${process.env['PUBLIC_BASE_URL'] || url}/console`}  (start here)
  processes      ${dataDir}/cluster.json, their logs beside it in logs/
  sign-in        ${issuer}
${tryIt(url, 'svc-instant')}
`)
}
