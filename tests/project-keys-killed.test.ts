/**
 * Keys is killed with SIGKILL between any two steps of a revocation, of a rotation or of an archive. The caller sees no success. The
 * next process finishes the change: the admission store refuses the keys, and the edges learn of each dead key.
 */

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  administer,
  createProject,
  hashOf,
  openStage,
  stateOf,
  type ProjectWithKeys,
  type Stage,
} from './project-keys/stage.ts'

const WITHIN = { timeout: 60_000, interval: 50 }

let stage: Stage
let keys: ChildProcess
beforeAll(async () => {
  stage = await openStage()
  keys = stage.startKeys()
})
afterAll(() => stage[Symbol.asyncDispose]())

type Name = keyof ProjectWithKeys['values']
const ENDINGS: { operation: string; dead: Name[]; living: Name[]; reason: string }[] = [
  { operation: 'apiKeys.delete', dead: ['named'], living: ['robot'], reason: 'revoked' },
  { operation: 'apiKeys.rotate', dead: ['named'], living: ['robot'], reason: 'rotated' },
  { operation: 'serviceAccounts.delete', dead: ['robot'], living: ['named'], reason: 'revoked' },
  { operation: 'projects.archive', dead: ['robot', 'named'], living: [], reason: 'revoked' },
]
const POINTS = [
  'keys.administration-committed',
  'keys.change-committed',
  'keys.tombstone-written',
  'keys.change-announced',
]

function inputOf(operation: string, { project_id, service_account_id, api_key_id }: ProjectWithKeys) {
  if (operation === 'projects.archive') return { project_id }
  return operation.startsWith('apiKeys') ? { project_id, api_key_id } : { project_id, service_account_id }
}

test.each(ENDINGS.flatMap((ending) => POINTS.map((point) => ({ ...ending, point }))))(
  'the next process finishes $operation when keys dies at $point',
  async ({ operation, dead, living, reason, point }) => {
    const project = await createProject(stage)
    const { values, project_id } = project
    const statesOf = (names: Name[]) => Promise.all(names.map((name) => stateOf(stage, values[name])))
    expect(await statesOf(['robot', 'named'])).toEqual(['active', 'active'])
    await writeFile(join(stage.failpoints, point), '')
    const exited = once(keys, 'exit')
    await expect(administer(stage, operation, inputOf(operation, project))).rejects.toThrow()
    await exited
    await expect(access(join(stage.failpoints, point))).rejects.toThrow()
    keys = stage.startKeys()

    await expect.poll(() => statesOf(dead), WITHIN).toEqual(dead.map(() => 'deny'))
    const reasons = () => dead.map((name) => stage.published.get(hashOf(values[name])))
    await expect.poll(reasons, WITHIN).toEqual(dead.map(() => reason))
    const left = async () => (await stage.database.query('select from keys.project_outbox')).rows.length
    await expect.poll(left, WITHIN).toBe(0)
    expect(await statesOf(dead)).toEqual(dead.map(() => 'deny'))
    expect(await statesOf(living)).toEqual(living.map(() => 'active'))
    const { rows } = await stage.database.query('select from keys.audit_log where project = $1', [project_id])
    // Project, service account, its key, the named key, and this change.
    expect(rows).toHaveLength(5)
  },
)
