/**
 * Rotations and revocations whose messages are late, repeated and overtaken by mints, in any order and several at once.
 * A key that a mint returned outlives every change whose client had been refused before.
 */

import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashOf, openKeysService, type TestKeys, minted } from '../../test/keys-service.ts'
import { findSession, revokeKey, rotateKey } from './developer-keys.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => {
  postgres = await startPostgres()
  keys = await openKeysService(postgres)
})
afterAll(async () => {
  await keys[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const STORIES = 60

/** A client's request to end a key, and its edge's message on the way. */
interface Ending {
  end: typeof rotateKey | typeof revokeKey
  keyHash: string
  message: { kind: 'ask' } | { kind: 'end'; ticket: string | undefined }
  isRefused: boolean
  /** A mint that was sent after the refusal has returned the key. */
  isOutlived: boolean
}

const which = fc.nat(7)
const act = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('mint' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('begin' as const), rotates: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('lag' as const), rotates: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('refuse' as const), which }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('deliver' as const), which }) },
)
type Act = typeof act extends fc.Arbitrary<infer Value> ? Value : never

interface Story {
  owner: KeyOwner
  endings: Ending[]
  /** The key that clients know last. */
  known: string
}

test('whichever message is late, a key that was minted after the refusal lives', async () => {
  let owners = 0
  // The acts of a step are at once.
  const steps = fc.array(fc.array(act, { minLength: 1, maxLength: 3 }), { minLength: 4, maxLength: 16 })
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const owner = { issuer: 'https://id.example', subject: `owner-${++owners}` }
      const story: Story = { owner, endings: [], known: await mint(owner) }
      for (const acts of all) await takeStep(story, acts)
      await endAlone(owner)
    }),
    { numRuns: STORIES },
  )
})

async function takeStep(story: Story, acts: readonly Act[]): Promise<void> {
  const { owner, endings } = story
  const refused = endings.filter(({ isRefused }) => isRefused)
  const outlived = endings.filter(({ isOutlived }) => isOutlived)
  const delivered: Ending[] = []
  const minted: string[] = []
  const before = await activeKey(owner)
  await Promise.all(
    acts.map(async (one) => {
      if (one.kind === 'mint') return void minted.push(await mint(owner))
      if (one.kind === 'begin' || one.kind === 'lag') {
        const ending = begin(story.known, one.rotates)
        endings.push(ending)
        // Its ticket came, and then the network failed.
        if (one.kind === 'lag') await deliver(owner, ending)
        ending.isRefused = one.kind === 'lag'
        return
      }
      const ending = endings[one.which % Math.max(1, endings.length)]
      if (!ending) return
      if (one.kind === 'refuse') ending.isRefused = true
      else if (await deliver(owner, ending)) delivered.push(ending)
    }),
  )
  const after = await activeKey(owner)
  const mayEnd = (keyHash: string, spared: Ending[]) =>
    delivered.some((ending) => ending.keyHash === keyHash && !spared.includes(ending))
  if (before && before !== after && !mayEnd(before, outlived)) throw new Error('a late change has ended a minted key')
  for (const key of minted) {
    if (key !== after && !mayEnd(key, refused)) throw new Error('a late change has ended a key beside its mint')
  }
  for (const ending of refused) ending.isOutlived ||= minted.includes(ending.keyHash)
  story.known = after ?? story.known
}

function begin(keyHash: string, rotates: boolean): Ending {
  const end = rotates ? rotateKey : revokeKey
  return { end, keyHash, message: { kind: 'ask' }, isRefused: false, isOutlived: false }
}

/** The message stays on its way, for the bus may bring it again. Returns whether the message ends a key. */
async function deliver(owner: KeyOwner, ending: Ending): Promise<boolean> {
  const { end, keyHash, message } = ending
  if (message.kind === 'ask') {
    const session = await findSession(keys, { owner, toEnd: keyHash })
    const ticket = session.kind === 'found' ? session.ticket : undefined
    // An edge that has refused its client sends nothing more.
    if (!ending.isRefused) ending.message = { kind: 'end', ticket }
    return false
  }
  const reply = await end(keys, { owner, keyHash, ticket: message.ticket })
  if (reply.kind === 'invalid' && reply.isLate && !ending.isRefused) ending.message = { kind: 'ask' }
  return true
}

/** A client that is left alone ends its key with the first try. */
async function endAlone(owner: KeyOwner): Promise<void> {
  await mint(owner)
  const keyHash = (await activeKey(owner))!
  const session = await findSession(keys, { owner, toEnd: keyHash })
  const ticket = session.kind === 'found' ? session.ticket : undefined
  expect(await revokeKey(keys, { owner, keyHash, ticket })).toMatchObject({ kind: 'revoked' })
  expect(await activeKey(owner)).toBeNull()
}

async function mint(owner: KeyOwner): Promise<string> {
  return hashOf((await minted(keys, { owner })).key)
}

async function activeKey(owner: KeyOwner): Promise<string | null> {
  const session = await findSession(keys, { owner })
  return session.kind === 'found' ? session.keyHash : null
}
