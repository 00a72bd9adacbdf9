/**
 * Administration while clients send requests: keys are made, rotated, replaced and expire, limits change, and a project is
 * made and archived. A call that was not confirmed promises nothing, and is repeated.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { KEY_REQUESTS, MODEL_REQUESTS } from '../plan/projects.ts'
import { ownerOf, placeOfKey, projectWith, type Projects } from '../stage/open-projects.ts'
import type { Members } from './administrator.ts'
import { changeLimit, type LimitFact } from './limit-log.ts'
import type { Keyring, Owner } from './owners.ts'

/** Sends a request with the owner's key. */
type Use = (owner: Owner) => Promise<unknown>

const CHANGES = ['rotate', 'replace', 'limit', 'archive', 'expire'] as const
type Change = (typeof CHANGES)[number]

const EXPIRES_IN_SECONDS = 3
const GONE_AFTER_MS = 5_500

export interface Administering {
  /** `chosen` chooses the change, and the key or limit. */
  administer(chosen: number): Promise<void>
  /** A project is made and archived. */
  archiveSomething(): Promise<void>
}

export function openAdministering(projects: Projects, keyring: Keyring, use: Use): Administering {
  const { administrator, limits } = projects
  const tenants = projects.owners.filter(({ kind }) => kind === 'tenant')
  const shared = tenants[0]!.project!.id
  let passing = 0

  const perform: Record<Change, (chosen: number) => Promise<void>> = {
    rotate: (chosen) => ofTenant(chosen, rotate),
    replace: (chosen) => ofTenant(chosen, replace),
    limit: (chosen) => changeSomeLimit(chosen),
    archive: () => archiveSomething(),
    expire: () => letExpire(),
  }

  /** One change of a key at a time. */
  async function ofTenant(chosen: number, change: (tenant: Owner) => Promise<void>): Promise<void> {
    const tenant = tenants[chosen % tenants.length]!
    if (tenant.isChanging) return
    tenant.isChanging = true
    await change(tenant)
    tenant.isChanging = false
  }

  async function rotate(tenant: Owner): Promise<void> {
    const former = tenant.key
    keyring.unsure(former)
    const { value } = await administrator.insist('apiKeys.rotate', placeOfKey(tenant))
    keyring.died(tenant, former)
    tenant.key = String(value)
  }

  async function replace(tenant: Owner): Promise<void> {
    const former = { key: tenant.key, place: placeOfKey(tenant) }
    const made = await administrator.insist('apiKeys.create', { project: shared }, { name: tenant.name })
    tenant.key = String(made['value'])
    tenant.project!.keyId = String(made['id'])
    keyring.unsure(former.key)
    await administrator.insist('apiKeys.delete', former.place)
    keyring.died(tenant, former.key)
  }

  async function changeSomeLimit(chosen: number): Promise<void> {
    const scope = chosen % 2 === 0 ? 'key' : 'model'
    const limit = limits.find((one) => one.scope === scope && one.reason === 'requests')!
    const owner = projects.owners.find(({ name }) => name === limit.owners[0])!
    if (owner.isChanging) return
    owner.isChanging = true
    const value = nextValue(limit)
    const { confirm } = changeLimit(limit, value)
    const place = placeOfKey(owner)
    const member = { max_requests_per_1_minute: value }
    if (scope === 'key') await administrator.insist('apiKeys.patch', place, member)
    else await administrator.insist('rateLimits.update', { ...place, limit: `rl_${limit.model}` }, member)
    confirm()
    owner.isChanging = false
  }

  async function archiveSomething(): Promise<void> {
    const name = `passing-${++passing}`
    const project = await projectWith(administrator, name, 'team')
    const robot = await administrator.insist('serviceAccounts.create', { project }, { name })
    const named = await administrator.insist('apiKeys.create', { project }, { name })
    const owners = [robot['api_key'] as Members, named].map((made, index) => {
      return addPassing(project, `${name}.${index + 1}`, made)
    })
    await Promise.all(owners.map(use))
    for (const { key } of owners) keyring.unsure(key)
    for (const owner of owners) owner.isOver = true
    await administrator.insist('projects.archive', { project })
    for (const owner of owners) keyring.died(owner, owner.key)
  }

  async function letExpire(): Promise<void> {
    const name = `passing-${++passing}`
    const given = { name, expires_in_seconds: EXPIRES_IN_SECONDS }
    const made = await administrator.insist('apiKeys.create', { project: shared }, given)
    const owner = addPassing(shared, name, made)
    keyring.expires(owner, owner.key, Number(made['expires_at']) * 1_000)
    owner.isOver = true
    await use(owner)
    await sleep(GONE_AFTER_MS)
    await use(owner)
  }

  function addPassing(project: string, name: string, made: Members): Owner {
    const owner = ownerOf(project, { kind: 'passing', name }, made)
    keyring.add(owner)
    return owner
  }

  return {
    administer: (chosen) => perform[CHANGES[chosen % CHANGES.length]!](Math.floor(chosen / CHANGES.length)),
    archiveSomething,
  }
}

function nextValue({ scope, values }: LimitFact): number {
  const choices = scope === 'key' ? KEY_REQUESTS : MODEL_REQUESTS
  return choices.find((choice) => choice !== values.at(-1)!.value)!
}
