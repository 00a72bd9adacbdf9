import { describe, expect, test } from 'vitest'
import { actorOf, changesOf, EVENT_TYPES, objectOf, queryOf, wordsOf } from './audit-rows.ts'

describe('an actor', () => {
  test('of a sign-in has the e-mail address, or else the id', () => {
    const session = (user: { id: string; email?: string }) => ({
      actor: { type: 'session' as const, session: { user } },
    })
    expect(actorOf(session({ id: 'user-1', email: 'ann@example.org' }))).toMatchObject({ name: 'ann@example.org' })
    expect(actorOf(session({ id: 'user-1' }))).toMatchObject({ name: 'user-1', kind: 'sign-in' })
    expect(actorOf(session({ id: 'operator' }))).toMatchObject({ kind: 'command line' })
    expect(actorOf(session({ id: 'payment_system' }))).toMatchObject({ name: 'payment system', kind: 'signed call' })
  })

  test('of an admin key is named by the key', () => {
    const actor = { type: 'api_key' as const, api_key: { id: 'key_1', type: 'user' as const } }
    expect(actorOf({ actor })).toEqual({ id: 'key_1', name: 'key_1', kind: 'admin key' })
  })
})

test('a change shows each value before and after, also one that was not there', () => {
  expect(changesOf({ before: { name: 'A', limit: 5 }, after: { name: 'B', models: ['x'] } })).toEqual([
    { name: 'name', before: 'A', after: 'B' },
    { name: 'limit', before: '5', after: '–' },
    { name: 'models', before: '–', after: '["x"]' },
  ])
  expect(changesOf({})).toEqual([])
})

test('a row names its object', () => {
  const row = { 'project.created': { id: 'proj_1' }, 'role.assignment.created': { resource_id: 'proj_2' } }
  const of = (type: string) => objectOf({ ...row, type } as unknown as Parameters<typeof objectOf>[0])
  expect([of('project.created'), of('role.assignment.created'), of('login.failed')]).toEqual(['proj_1', 'proj_2', null])
})

test('every type of event has words', () => {
  expect(wordsOf('tenant.admin_api_key.created')).toBe('Admin API key created')
  expect(EVENT_TYPES.every(({ label }) => /^[A-Z][A-Za-z ]+$/.test(label))).toBe(true)
})

test('filters become the query of the gateway, days with their end', () => {
  expect(queryOf({})).toEqual({})
  expect(
    queryOf({ from: '1970-01-02', to: '1970-01-02', actor: 'a@b.c', type: 'user.added', project: 'proj_1' }),
  ).toEqual({
    effective_at: { gte: 86_400, lt: 172_800 },
    actor_emails: ['a@b.c'],
    event_types: ['user.added'],
    project_ids: ['proj_1'],
  })
  expect(queryOf({ actor: 'key_1', from: 'never' })).toEqual({ actor_ids: ['key_1'] })
})
