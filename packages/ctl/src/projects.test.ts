/**
 * A command finds a project by its id, or by a name that only one project has.
 */

import type { Operation } from '@gateway/contracts/administration/operation'
import { operations } from '@gateway/contracts/administration/operations'
import { expect, test } from 'vitest'
import type { Gateway } from './gateway.ts'
import { archiveProject } from './projects.ts'

interface Listed {
  id: string
  name: string
  status?: 'active' | 'archived'
}

/** A gateway with these projects, in pages of one. `archived`: the ids that were archived. */
function gatewayWith(projects: Listed[]) {
  const archived: string[] = []
  const described = (project: Listed) => {
    const { status = 'active' } = project
    const since = 1_764_374_400
    const facts = { object: 'organization.project', created_at: since, personal: false, plan: 'free' }
    return { ...project, ...facts, status, archived_at: status === 'active' ? null : since }
  }
  const serve = (operation: string, input: Record<string, unknown>): unknown => {
    if (operation === 'projects.archive') {
      const id = String(input['project_id'])
      archived.push(id)
      return described({ id, name: 'archived', status: 'archived' })
    }
    const at = projects.findIndex(({ id }) => id === input['after']) + 1
    const data = projects.slice(at, at + 1).map(described)
    const last = data[0]?.id ?? null
    return { object: 'list', data, first_id: last, last_id: last, has_more: at + 1 < projects.length }
  }
  const administer: Gateway['administer'] = async (operation, input) => {
    const row: Operation = operations[operation]
    return row.output.parse(serve(operation, input)) as never
  }
  const unused = () => Promise.reject(new Error('the command needs no request on the bus'))
  const gateway: Gateway = { administer, request: unused, [Symbol.asyncDispose]: async () => {} }
  return { gateway, archived }
}

const SEARCH = { id: 'proj_aaaaaaaa', name: 'search' }
const CHAT = { id: 'proj_bbbbbbbb', name: 'chat' }

test('a project is archived by its id, and by a name that no other has', async () => {
  const { gateway, archived } = gatewayWith([SEARCH, CHAT])
  await archiveProject(gateway, CHAT.id)
  await archiveProject(gateway, 'chat')
  expect(archived).toEqual([CHAT.id, CHAT.id])
})

test('a name that several projects have archives none, and the error lists their ids', async () => {
  const { gateway, archived } = gatewayWith([SEARCH, CHAT, { ...CHAT, id: 'proj_cccccccc' }])
  await expect(archiveProject(gateway, 'chat')).rejects.toThrow(
    /several projects.*\n.*proj_bbbbbbbb.*\n.*proj_cccccccc/,
  )
  expect(archived).toEqual([])
})

test('an archived project gives its name up, and archiving it again by name changes nothing', async () => {
  const former = { ...CHAT, id: 'proj_cccccccc', status: 'archived' as const }
  const both = gatewayWith([former, CHAT])
  await archiveProject(both.gateway, 'chat')
  expect(both.archived).toEqual([CHAT.id])
  const alone = gatewayWith([former])
  await archiveProject(alone.gateway, 'chat')
  expect(alone.archived).toEqual([former.id])
})

test('a name that no project has is an error that repeats it', async () => {
  const { gateway, archived } = gatewayWith([SEARCH])
  await expect(archiveProject(gateway, 'serach')).rejects.toThrow('there is no project serach')
  expect(archived).toEqual([])
})
