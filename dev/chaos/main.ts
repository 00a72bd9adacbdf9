/**
 * `npm run chaos -- --requests 10000 --kills 25 --seed 7`: exits 0 when every promise was kept, else 1 with the evidence
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
// Ended from outside, it still puts away what it has opened.
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
  const { judgement, facts, tookMs } = run
  if (options.json) console.log(JSON.stringify({ seed: options.seed, ...judgement, tookMs }))
  else console.log(`\n${reportOf(facts, judgement)}\n`)
  const again = `--requests ${options.requests} --kills ${options.kills} --seed ${options.seed}${options.network ? ' --network' : ''}${options.replicated ? ` --replicated --redis ${options.replicated}` : ''}`
  console.error(`seed ${options.seed} (npm run chaos -- ${again}), ${Math.round(tookMs / 1_000)} s`)
  if (judgement.isKept) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  else await leaveEvidence(run)
  process.exitCode = judgement.isKept ? 0 : 1
} catch (error) {
  if (folder !== '') console.error(`The run broke off; what it left lies in ${folder}`)
  reportFatal(error)
}

async function leaveEvidence({ facts, judgement }: ChaosRun): Promise<void> {
  await writeFile(join(folder, 'facts.json'), JSON.stringify(facts))
  await writeFile(join(folder, 'verdicts.json'), JSON.stringify(judgement.verdicts, null, 2))
  for (const { promise, breaches } of judgement.verdicts) {
    if (breaches.length === 0) continue
    console.error(`\nBROKEN: ${promise}`)
    for (const { requests, what } of breaches.slice(0, VIOLATIONS_SHOWN)) {
      console.error(`  ${what}${requests.length > 0 ? ` (${requests.slice(0, 5).join(', ')})` : ''}`)
    }
    if (breaches.length > VIOLATIONS_SHOWN) console.error(`  and ${breaches.length - VIOLATIONS_SHOWN} more`)
  }
  console.error(`\nThe evidence lies in ${folder}`)
}
