/**
 * A short run of the chaos suite. It injects faults into a process or server of every kind while clients of every kind
 * send requests, and every promise holds. `npm run chaos` is the long one.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runChaos } from '../dev/chaos/run-chaos.ts'

const SEED = Number(process.env['CHAOS_SEED'] || 8)

test(`under random faults, the gateway keeps its promises (seed ${SEED})`, { timeout: 300_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-chaos-'))
  const said: string[] = []
  const options = { requests: 500, kills: 3, seed: SEED, json: false }
  const { result } = await runChaos(options, folder, (line) => said.push(line))
  const broken = result.verdicts.filter(({ violations }) => violations.length > 0)
  expect(broken, `${said.join('\n')}\nthe evidence lies in ${folder}`).toEqual([])
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})
