/**
 * `npm run prove:kubernetes -- --api-only`: builds Kubernetes' API server and gives it the chart. Linux, as root; needs Go,
 * and installs what it needs of Debian. It leaves its cache below `.artifacts/prove`, with the programs' logs, and nothing
 * else.
 */

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { reportFatal } from '@gateway/service/report-fatal'
import { CACHE } from '../engine/engine.ts'
import { runInOwnWorld } from '../engine/own-world.ts'
import { ENGINE_PROGRAMS, ensurePrograms } from '../engine/packages.ts'
import { buildKubernetes } from './build-binaries.ts'
import type { Plan } from './plan.ts'

const { slirp4netns } = ENGINE_PROGRAMS

try {
  const { values } = parseArgs({ options: { 'api-only': { type: 'boolean', default: false } } })
  const logs = join(CACHE, 'kubernetes', 'logs')
  rmSync(logs, { recursive: true, force: true })
  mkdirSync(logs, { recursive: true })
  if (!values['api-only']) throw new Error('usage: npm run prove:kubernetes -- --api-only')
  await ensurePrograms({ slirp4netns })
  const plan: Plan = { logs, kubernetes: await buildKubernetes(join(CACHE, 'kubernetes')) }
  process.exitCode = await runInOwnWorld(join(import.meta.dirname, 'prove-api.ts'), [JSON.stringify(plan)])
} catch (error) {
  reportFatal(error)
}
