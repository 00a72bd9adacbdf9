/**
 * `npm run chaos -- --requests 10000 --kills 25 --seed 7`: exits 0 when every invariant was kept, else 1 with the evidence
 * left in a folder.
 */

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import { enterOwnNetwork } from './network/enter-own-network.ts'
import { readOptions, USAGE } from './options.ts'
import { reportOf } from './report/table.ts'
import { runChaos, type ChaosRun } from './run-chaos.ts'

const VIOLATIONS_SHOWN = 20

let folder = ''
// Ended from outside, it still puts away all that it has opened.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
try {
  const args = process.argv.slice(2)
  if (args.includes('--help')) {
    console.log(USAGE)
    process.exit(0)
  }
  const options = readOptions(args)
  if (options.network) enterOwnNetwork()
  folder = await mkdtemp(join(tmpdir(), 'gateway-chaos-'))
  // PostgreSQL runs as another user below it.
  await chmod(folder, 0o711)
  const run = await runChaos(options, folder, (line) => console.error(line))
  const { result, facts, tookMs } = run
  if (options.json) console.log(JSON.stringify({ seed: options.seed, ...result, tookMs }))
  else console.log(`\n${reportOf(facts, result)}\n`)
  const again = `--requests ${options.requests} --kills ${options.kills} --seed ${options.seed}${options.network ? ' --network' : ''}${options.replicated ? ` --replicated --redis ${options.replicated}` : ''}`
  console.error(`seed ${options.seed} (npm run chaos -- ${again}), ${Math.round(tookMs / 1_000)} s`)
  if (result.isKept) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  else await leaveEvidence(run)
  process.exitCode = result.isKept ? 0 : 1
} catch (error) {
  if (folder !== '') console.error(`The run broke off; its files lie in ${folder}`)
  reportFatal(error)
}

async function leaveEvidence({ facts, result }: ChaosRun): Promise<void> {
  await writeFile(join(folder, 'facts.json'), JSON.stringify(facts))
  await writeFile(join(folder, 'verdicts.json'), JSON.stringify(result.verdicts, null, 2))
  for (const { invariant, violations } of result.verdicts) {
    if (violations.length === 0) continue
    console.error(`\nBROKEN: ${invariant}`)
    for (const { requests, what } of violations.slice(0, VIOLATIONS_SHOWN)) {
      console.error(`  ${what}${requests.length > 0 ? ` (${requests.slice(0, 5).join(', ')})` : ''}`)
    }
    if (violations.length > VIOLATIONS_SHOWN) console.error(`  and ${violations.length - VIOLATIONS_SHOWN} more`)
  }
  console.error(`\nThe evidence lies in ${folder}`)
}
