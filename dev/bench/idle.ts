/**
 * `npm run bench -- idle`: the CPU of a cluster of one edge and one router that serves nobody, by process.
 *
 * With `--against <commit>` both run side by side, and are measured over the same minute. Some requests come first, and then a minute
 * in which the collector removes their garbage.
 */

import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { startBackend } from './harness/backend.ts'
import { commitTree } from './harness/commit-tree.ts'
import { costed, total, type ByProcess } from './harness/costs.ts'
import { ROOT } from './harness/folders.ts'
import { runLoad } from './harness/load.ts'
import { compileNative } from './harness/native.ts'
import { endpointOf, launchCommit } from './quick-against.ts'
import { PLAIN } from './quick.ts'

const SETTLE_MS = 60_000
const MEASURED_MS = 60_000

interface IdleOptions {
  commit: string | undefined
  signal: AbortSignal
  say(line: string): void
}

export async function idle({ commit, signal, say }: IdleOptions): Promise<void> {
  const programs = await compileNative()
  await using opened = new AsyncDisposableStack()
  const trees = { 'working tree': ROOT, ...(commit === undefined ? {} : { [commit]: await commitTree(commit) }) }
  const sides: Record<string, () => ByProcess> = {}
  for (const [name, folder] of Object.entries(trees)) {
    say(`launching ${name}`)
    const backend = opened.use(await startBackend(programs.backend))
    const gateway = opened.use(await launchCommit(folder, backend.port))
    await runLoad(programs.load, endpointOf(gateway), PLAIN, { connections: 8, seconds: 3, signal })
    sides[name] = () => gateway.processes()
  }
  say('a minute of rest')
  await sleep(SETTLE_MS, undefined, { signal })
  say('a minute of measurement')
  const rest = () => sleep(MEASURED_MS, undefined, { signal })
  const taken = await Promise.all(
    Object.entries(sides).map(async ([name, processes]) => {
      const { cpuMs } = await costed(processes(), rest, () => MEASURED_MS / 1_000, signal)
      return [name, cpuMs] as const
    }),
  )
  print(Object.fromEntries(taken))
}

function print(sides: Record<string, ByProcess>): void {
  const names = Object.keys(Object.values(sides)[0]!)
  const row = (of: (values: ByProcess) => number | undefined) =>
    Object.fromEntries(Object.entries(sides).map(([side, values]) => [side, Number(of(values)?.toFixed(2))]))
  console.log('\nms of CPU a second, over a minute')
  console.table({
    ...Object.fromEntries(names.map((name) => [name, row((values) => values[name])])),
    'all of the gateway': row(total),
  })
  console.log(
    `load average ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
}
