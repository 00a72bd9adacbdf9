/**
 * `npm run bench -- quick --against <commit>`: the ratio of the working tree's costs to a commit's.
 *
 * Each round launches both, and they take turns in short loads: A B B A. A machine that drifts does so for both, and the
 * ratio of two neighbours is steady where neither figure is. Launches differ too, so there are several rounds.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startBackend } from './harness/backend.ts'
import { commitTree } from './harness/commit-tree.ts'
import { costed, memoryNow, total, type ByProcess } from './harness/costs.ts'
import { ROOT } from './harness/folders.ts'
import { type Endpoint, runLoad, type LoadOptions, type LoadResult, type Order } from './harness/load.ts'
import { compileNative, type NativePrograms } from './harness/native.ts'
import { spreadOf } from './harness/statistics.ts'
import { PLAIN, STREAM } from './quick.ts'
import type { launchGateway } from './subjects/gateway.ts'

export interface AgainstOptions {
  commit: string
  rounds: number
  signal: AbortSignal
  say(line: string): void
}

/** The measurements of one turn, by the name of its row. */
type Figures = Record<string, number>

/** A gateway under measurement, of any commit. */
interface Side {
  name: string
  /** Runs one load of each kind. */
  turn(): Promise<Figures>
}

const WARM_UP: LoadOptions = { connections: 32, seconds: 6 }
const PLAIN_LOAD: LoadOptions = { connections: 32, seconds: 4 }
const STREAM_LOAD: LoadOptions = { connections: 300, seconds: 4, rampSeconds: 1, measureAfterSeconds: 1 }
const FEW_STREAMS_LOAD: LoadOptions = { ...STREAM_LOAD, connections: 100 }
const ONE_CONNECTION: LoadOptions = { connections: 1, seconds: 2 }
const MEMORY = 'MB'

export async function quickAgainst({ commit, rounds, signal, say }: AgainstOptions): Promise<void> {
  const programs = await compileNative()
  const trees = { 'working tree': ROOT, [commit]: await commitTree(commit) }
  const pairs: [Figures, Figures][] = []
  for (let round = 1; round <= rounds; round++) {
    say(`round ${round} of ${rounds}: launching both`)
    await using sides = new AsyncDisposableStack()
    const opened: Side[] = []
    for (const [name, folder] of inTurn(Object.entries(trees), round)) {
      opened.push(await openSide(name, folder, programs, sides, signal))
    }
    const [first, second] = opened as [Side, Side]
    for (const order of [
      [first, second],
      [second, first],
    ]) {
      const taken: Record<string, Figures> = {}
      for (const side of order) {
        say(`round ${round}: ${side.name}`)
        taken[side.name] = await side.turn()
      }
      pairs.push([taken['working tree']!, taken[commit]!])
    }
  }
  print(commit, pairs)
}

/** The side that is launched first is also measured first: that alternates as well. */
function inTurn<Item>(items: Item[], round: number): Item[] {
  return round % 2 === 1 ? items : items.toReversed()
}

/** A commit's own launcher starts the commit's own services, on the Node of its own. */
export async function launchCommit(folder: string, backendPort: number): ReturnType<typeof launchGateway> {
  const { launchGateway: launch } = await launcherOf(folder)
  const { execPath } = process
  // A launcher takes the Node that runs this process.
  process.execPath = join(folder, 'node_modules', 'node', 'bin', 'node')
  try {
    return await launch(backendPort)
  } finally {
    process.execPath = execPath
  }
}

/** Until 2026-11-28 the bench lay at the top level. */
async function launcherOf(folder: string): Promise<Launcher> {
  const places = ['dev/bench', 'bench'].map((place) => join(folder, place, 'subjects', 'gateway.ts'))
  const place = places.find((candidate) => existsSync(candidate)) ?? places[0]!
  return (await import(pathToFileURL(place).href)) as Launcher
}

async function openSide(
  name: string,
  folder: string,
  programs: NativePrograms,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Side> {
  const backend = opened.use(await startBackend(programs.backend))
  const gateway = opened.use(await launchCommit(folder, backend.port))
  const endpoint = endpointOf(gateway)
  const run = async (order: Order, options: LoadOptions) => {
    const result = await runLoad(programs.load, endpoint, order, { ...options, signal })
    if (result.failed > 0) throw new Error(`${name}: ${result.failed} failed, the first: ${result.firstFailure}`)
    return result
  }
  const costs = (order: Order, options: LoadOptions, countOf: (result: LoadResult) => number) =>
    costed(gateway.processes(), () => run(order, options), countOf, signal)

  await run(PLAIN, WARM_UP)
  await run(STREAM, { connections: 50, seconds: 1 })
  return {
    name,
    async turn() {
      const plain = await costs(PLAIN, PLAIN_LOAD, ({ requests }) => requests)
      const stream = await costs(STREAM, STREAM_LOAD, ({ chunks }) => chunks)
      const fewStreams = await costs(STREAM, FEW_STREAMS_LOAD, ({ chunks }) => chunks)
      const low = await run(PLAIN, ONE_CONNECTION)
      return {
        'µs per plain request': total(plain.cpuMs) * 1_000,
        ...microseconds(plain.cpuMs),
        'µs per chunk, 300 streams': total(stream.cpuMs) * 1_000,
        'µs per chunk, 100 streams': total(fewStreams.cpuMs) * 1_000,
        'lag p50 at 300 streams, ms': stream.result.lag.p50,
        'lag p99 at 300 streams, ms': stream.result.lag.p99,
        'lag p50 at 100 streams, ms': fewStreams.result.lag.p50,
        'lag p99 at 100 streams, ms': fewStreams.result.lag.p99,
        'p50 at one connection, ms': low.latency.p50,
        'p99 at 32 connections, ms': plain.result.latency.p99,
        [MEMORY]: total(memoryNow(gateway.processes())),
      }
    },
  }
}

/** Its name in the launcher changed on 2026-11-28. */
export function endpointOf(launched: object): Endpoint {
  const found = Object.values(launched).find((member: unknown) => Array.isArray((member as Partial<Endpoint>).ports))
  if (!found) throw new Error('the commit is too old: its launcher names no endpoint')
  return found as Endpoint
}

interface Launcher {
  launchGateway: typeof launchGateway
}

function microseconds(cpuMs: ByProcess): Figures {
  return Object.fromEntries(Object.entries(cpuMs).map(([name, ms]) => [`  of it ${name}`, ms * 1_000]))
}

function print(commit: string, pairs: [Figures, Figures][]): void {
  const rows = Object.keys(pairs[0]![0]).filter((row) => pairs.every(([, of]) => of[row] !== undefined))
  const table = rows.map((row) => {
    const median = (side: 0 | 1) => spreadOf(pairs.map((pair) => pair[side][row]!))!.median
    const ratio = spreadOf(pairs.map(([mine, theirs]) => mine[row]! / theirs[row]!))!
    const columns = {
      'working tree': rounded(median(0), 2),
      [commit]: rounded(median(1), 2),
      ratio: rounded(ratio.median, 3),
      lowest: rounded(ratio.min, 3),
      highest: rounded(ratio.max, 3),
    }
    return [row, columns]
  })
  console.log(`\nMedians of ${pairs.length} pairs; the ratio is the working tree's figure over that of ${commit}`)
  console.table(Object.fromEntries(table))
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
