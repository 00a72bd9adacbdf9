/**
 * Writes the extrapolation into `docs/scaling.md` from the results that are there.
 */

import { join } from 'node:path'
import { comparison, type Costs } from '../compare/launch-result.ts'
import { ROOT } from '../harness/folders.ts'
import { readResult } from '../harness/results.ts'
import { spreadOf } from '../harness/statistics.ts'
import { scaleResult } from '../scale/curve.ts'
import { gateway } from '../subjects/gateway.ts'
import { describeBackends } from './capacity.ts'
import { writeIntoPage } from './pages.ts'

const PAGE = join(ROOT, 'docs', 'scaling.md')
/** Streams at once at which a chunk's cost is taken: few cost more, since little travels together. */
const CHUNK_COST_AT = 300

export async function publishBackends(): Promise<void> {
  const launches = (await readResult('compare', comparison))?.launches.filter(({ subject }) => subject === gateway.name)
  const perRequestMs = medians(launches?.flatMap(({ plain }) => (plain ? [plain.cpuMs] : [])) ?? [])
  const perChunkMs = medians(
    launches?.flatMap(
      ({ streams }) => streams?.filter((level) => level.streams === CHUNK_COST_AT).map((level) => level.cpuMs) ?? [],
    ) ?? [],
  )
  if (!perRequestMs || !perChunkMs) return
  const point = (await readResult('scale', scaleResult))?.curves['ledger']?.points.at(-1)
  const rowsPerSecond = point?.values['perSecond']
  const ledger = rowsPerSecond === undefined ? undefined : { rowsPerSecond, held: Number(point?.x) }
  await writeIntoPage(PAGE, 'fleet', describeBackends({ perRequestMs, perChunkMs, ledger }))
}

function medians(all: Costs[]): Costs | undefined {
  const [first] = all
  if (!first) return undefined
  const names = Object.keys(first)
  return Object.fromEntries(names.map((name) => [name, spreadOf(all.map((costs) => costs[name] ?? 0))?.median ?? 0]))
}
