/**
 * Operators who change keys and backends through the API without a pause, and remember each change that the gateway confirmed.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { openAdministrator } from '../../dev/chaos/clients/administrator.ts'
import { sendRaw } from '../promises/gateway.ts'
import { until } from './kill.ts'
import type { Stage } from './stage.ts'

/** Of a project, in the order of their confirmations: `<key> created`. */
export type Confirmed = Map<string, string[]>

interface Story {
  stage: Stage
  isOver(): boolean
}

const PAUSE_MS = 30
const DAY_S = 86_400

/** Makes keys, rotates them and revokes them, one change after the other. Every third key stays, and expires soon. */
export async function changeKeys({ stage, isOver }: Story, project: string, confirmed: string[]): Promise<void> {
  const { insist } = openAdministrator(stage.gateway.urls, stage.adminKey)
  for (let turn = 0; !isOver(); turn++) {
    const stays = turn % 3 === 2
    const body = { name: `of turn ${turn}`, ...(stays && { expires_in_seconds: 3 * DAY_S }) }
    const { id } = await insist('apiKeys.create', { project }, body)
    const named = { project, key: String(id) }
    const note = (change: string) => confirmed.push(`${named.key.slice('key_'.length)} ${change}`)
    note('key.created')
    if (!stays) {
      await insist('apiKeys.rotate', named)
      note('key.rotated')
      await insist('apiKeys.delete', named)
      note('key.revoked')
    }
    await sleep(PAUSE_MS)
  }
  await halfOfTheirLifeIsOver(stage, project)
}

/** Also of the keys that the gateway made and never confirmed: a kill came before the response. */
async function halfOfTheirLifeIsOver({ database }: Stage, project: string): Promise<void> {
  await database.query(
    `update keys.project_keys set created_at = created_at - interval '4 days'
     where account = $1 and expires_at is not null`,
    [project.slice('proj_'.length)],
  )
}

/** Takes a backend out and back. Each state stays until the webhook has it, and so has its event. */
export async function drainAndRestore({ stage, isOver }: Story, backend: string): Promise<number> {
  const { receiver } = stage
  let events = 0
  while (!isOver()) {
    for (const [word, type] of [
      ['drain', 'backend.ejected'],
      ['restore', 'backend.restored'],
    ] as const) {
      events++
      await insistOnBackend(stage, backend, word)
      const last = () => receiver.received.findLast(({ data }) => data['backend'] === backend)
      await until(`${type} of ${backend} arrives`, async () => last()?.type === type, 120_000)
    }
  }
  return events
}

async function insistOnBackend({ gateway, adminKey }: Stage, backend: string, word: string): Promise<void> {
  let tries = 0
  const isConfirmed = async () => {
    const url = gateway.urls[tries++ % gateway.urls.length]!
    const signal = AbortSignal.timeout(20_000)
    const sent = sendRaw(url, `/admin/v1/backends/${backend}/${word}`, { key: adminKey, method: 'POST', signal })
    return sent.then(
      ({ status }) => status === 200,
      () => false,
    )
  }
  await until(`${word} of ${backend} is confirmed`, isConfirmed, 120_000)
}

/** The first arrivals of each event, in their order. */
export function distinct<Event extends { id: string }>(events: readonly Event[]): Event[] {
  const seen = new Set<string>()
  return events.filter(({ id }) => !seen.has(id) && seen.add(id))
}
