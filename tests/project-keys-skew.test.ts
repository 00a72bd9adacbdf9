/**
 * A keys process of the last release beside this one's tables. It neither takes nor loses a revocation of a project's key. It fills no
 * project without its limits, and says clearly that it does not know the key.
 */

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { rpcClient } from '@gateway/rpc/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  administer,
  createProject,
  endProcess,
  hashOf,
  openStage,
  stateOf,
  tagOf,
  type Stage,
} from './project-keys/stage.ts'
import { unpackLastRelease, type Version } from './skew/versions.ts'

const WITHIN = { timeout: 60_000, interval: 50 }
/** The former process looks into its outbox every second, and leaves a fresh change alone for three. */
const LOOKS_MS = 6_000

let stage: Stage
let folder: string
let former: Version
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-project-skew-'))
  former = await unpackLastRelease(join(folder, 'former'))
  stage = await openStage()
})
afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

const outbox = async () => (await stage.database.query('select * from keys.project_outbox')).rows

test(
  'a process of the last release leaves projects alone, and their revocations to this release',
  { timeout: 120_000 },
  async () => {
    const present = stage.startKeys()
    const { project_id, api_key_id, values } = await createProject(stage)
    await writeFile(join(stage.failpoints, 'keys.change-committed'), '')
    const died = once(present, 'exit')
    await expect(administer(stage, 'apiKeys.delete', { project_id, api_key_id })).rejects.toThrow()
    await died
    const left = await outbox()
    expect(left).toHaveLength(1)

    const formerKeys = stage.startKeys(former)
    const edge = rpcClient('edge', stage.bus)
    const operator = rpcClient('ctl', stage.bus)
    // The process subscribes to one subject after the other.
    const timely = { timeoutMs: 15_000, absentForMs: 10_000 }
    const account = tagOf(values.robot)
    const keyHash = hashOf(values.robot)
    const fill = () => edge.request('keysFill', { account, keyHash }, timely).catch(() => null)
    await expect.poll(fill, WITHIN).toEqual({ kind: 'unknown' })
    expect(await edge.request('keysLookUp', { account, keyHash }, timely)).toEqual({ kind: 'dead' })
    await expect(operator.request('keysSetPlan', { subject: account, plan: 'pro' }, timely)).rejects.toThrow(
      'use this release',
    )
    const reconciled = operator.request('keysReconcile', { after: null, repair: true }, timely)
    // The account's version is ahead of the store's until this release announces the change.
    expect((await reconciled).drifts.map(({ kind }) => kind)).toEqual(['account'])
    await sleep(LOOKS_MS)
    expect((await outbox()).map(({ id, attempts }) => [id, attempts])).toEqual(left.map(({ id }) => [id, 0]))
    expect(await stateOf(stage, values.robot)).toBe('active')
    const plans = await stage.database.query('select plan from keys.accounts')
    expect(plans.rows).toEqual([{ plan: 'free' }])

    await endProcess(formerKeys)
    stage.startKeys()
    await expect.poll(() => stateOf(stage, values.named), WITHIN).toBe('deny')
    await expect.poll(() => stage.published.get(hashOf(values.named)), WITHIN).toBe('revoked')
    expect(await stateOf(stage, values.robot)).toBe('active')
  },
)
