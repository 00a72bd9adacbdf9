/**
 * Two versions at once. The last release and this checkout share a bus, Redis and PostgreSQL, while chaos' clients send
 * requests and chaos' checkers find no violation. A run begins on the last release.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FaultAction, VersionName } from '../dev/chaos/plan/faults.ts'
import { chance, type Random } from '../dev/chaos/plan/random.ts'
import { runChaos } from '../dev/chaos/run-chaos.ts'
import { readMessages, unreadBy } from './skew/messages.ts'
import { PRESENT, unpackLastRelease, type Version, writeChanged } from './skew/versions.ts'

const SEED = Number(process.env['CHAOS_SEED'] || 3)
/** The last release is from before the other two APIs. */
const WAYS = ['chat'] as const
/** Two services move at once. The way back has other pairs, so that of any two one has once moved alone. */
const TO_PRESENT = [
  ['edge', 'keys'],
  ['router', 'metering'],
]
const TO_FORMER = [
  ['edge', 'metering'],
  ['router', 'keys'],
]

let folder: string
let former: Version
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-skew-'))
  former = await unpackLastRelease(join(folder, 'former'))
})
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))

const to = (version: VersionName, ...processes: string[]): FaultAction => ({ kind: 'switch', processes, to: version })

/** One process of each service stays as it was while the other moves. */
const move = (pairs: readonly string[][], version: VersionName, random: Random): FaultAction[] =>
  random.shuffled(pairs).flatMap((services) => {
    return random.shuffled([1, 2]).map((number) => to(version, ...services.map((service) => `${service}-${number}`)))
  })

async function runVersions(present: Version, switches: readonly FaultAction[], requests: number, isBroken = false) {
  const evidence = await mkdtemp(join(tmpdir(), 'gateway-skew-run-'))
  const said: string[] = []
  const versions = { former, present }
  const options = { requests, kills: 0, seed: SEED, json: false, versions, switches, ways: WAYS, isBroken }
  const { result } = await runChaos(options, evidence, (line) => said.push(line))
  const broken = result.verdicts.filter(({ violations }) => violations.length > 0)
  return { broken, said, evidence, forget: () => rm(evidence, { recursive: true, force: true, maxRetries: 5 }) }
}

test('either version reads all messages of the other', async () => {
  const [ours, theirs] = await Promise.all([readMessages(PRESENT), readMessages(former)])
  expect(unreadBy(ours, theirs.golden)).toEqual([])
  expect(unreadBy(theirs, ours.golden)).toEqual([])
})

test('services move to this version and back in any order, and every promise holds', { timeout: 300_000 }, async () => {
  const order = chance(SEED, 'order')
  const switches = [...move(TO_PRESENT, 'present', order), ...move(TO_FORMER, 'former', order)]
  const { broken, said, evidence, forget } = await runVersions(PRESENT, switches, 400)
  expect(broken, `${said.join('\n')}\nthe evidence lies in ${evidence}`).toEqual([])
  await forget()
})

test('a version that renames a field of a message is found out', { timeout: 180_000 }, async () => {
  const renamed = await writeChanged(join(folder, 'renamed'), (files) =>
    files.map((file) => {
      if (!/\.(?:js|lua|json)$/.test(file.path)) return file
      return { ...file, content: Buffer.from(file.content.toString().replaceAll('endedAtMs', 'finishedAtMs')) }
    }),
  )
  const messages = await readMessages(renamed)
  expect(unreadBy(await readMessages(former), messages.golden)).toContain('usage.event')
  const { broken, forget } = await runVersions(renamed, [to('present', 'edge-1')], 150, true)
  expect(broken.map(({ invariant }) => invariant)).toContain('lag, pending and leases go back to zero')
  await forget()
})

test('a version that renames a column is found out', { timeout: 180_000 }, async () => {
  const ledger = 'services/metering/src/db/ledger.js'
  const renamed = await writeChanged(join(folder, 'renamed-column'), (files) => [
    ...files.map((file) => {
      if (file.path !== ledger) return file
      return { ...file, content: Buffer.from(file.content.toString().replaceAll('reasoning_tokens', 'thought_tokens')) }
    }),
    {
      path: 'services/metering/src/db/migrations/999-rename.sql',
      content: Buffer.from('alter table metering.ledger rename column reasoning_tokens to thought_tokens;'),
    },
  ])
  // In the end only the last release is there. As long as a renaming one runs, it records the events that the others
  // cannot.
  const switches = [to('present', 'metering-1'), to('former', 'metering-1')]
  const { broken, forget } = await runVersions(renamed, switches, 150, true)
  expect(broken.map(({ invariant }) => invariant)).toContain('lag, pending and leases go back to zero')
  await forget()
})
