import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { chat } from './inference-kinds.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'
import { affinityKeyOf, sessionOf, sessionOfUserId, type Session } from './session.ts'

const ID = '8c1f0b52-0f1c-4a0e-9f4e-0123456789ab'
const AGENT = 'a17f3'

describe('a session is named', () => {
  test.each<[string, Record<string, string>, Partial<Session>]>([
    [
      'by Claude Code, with its agents',
      { 'x-claude-code-session-id': ID, 'x-claude-code-agent-id': AGENT, 'x-claude-code-parent-agent-id': 'b2' },
      { id: ID, agentId: AGENT, parentAgentId: 'b2' },
    ],
    [
      'by Codex, whose threads are its agents',
      { 'session-id': ID, 'thread-id': AGENT, 'x-codex-parent-thread-id': ID },
      { id: ID, agentId: AGENT, parentAgentId: ID },
    ],
    ['by Codex, whose main thread is the session', { 'session-id': ID, 'thread-id': ID }, { id: ID }],
    ['by former versions of Codex', { session_id: ID, conversation_id: 'other' }, { id: ID }],
    ['by the oldest versions of Codex', { conversation_id: ID }, { id: ID }],
    ['by opencode', { 'x-session-affinity': ID }, { id: ID }],
    ['by opencode, in two headers', { 'x-session-id': ID, 'x-session-affinity': ID }, { id: ID }],
  ])('%s', (_, headers, session) => {
    expect(sessionOf(headers, undefined)).toEqual(session)
  })

  test.each<[string, string | null | undefined, string | undefined]>([
    ['Claude Code before 2.1.78', `user_0123abcd_account_${ID}_session_${ID}`, ID],
    ['Claude Code', JSON.stringify({ device_id: 'd', account_uuid: '', session_id: ID }), ID],
    ['a client without sessions', 'user-4711', undefined],
    ['a client with JSON of its own', '{"name":"x"}', undefined],
    ['a client with broken JSON', '{"session_id":', undefined],
    ['nobody', null, undefined],
    ['a client that leaves it out', undefined, undefined],
  ])('in the user id of %s', (_, userId, id) => {
    expect(sessionOfUserId(userId)?.id).toBe(id)
  })

  test('in the bodies of all dialects, and a header goes before them', () => {
    const turn = [{ role: 'user', content: 'Hi' }]
    const key = { prompt_cache_key: ID }
    expect(chat({ messages: turn, ...key }, []).session).toMatchObject({ id: ID, cacheKey: ID })
    expect(responses({ input: 'Hi', ...key }, []).session).toMatchObject({ id: ID, cacheKey: ID })
    const metadata = { user_id: `user_x_account__session_${ID}` }
    const named = messages({ model: 'm', max_tokens: 9, messages: turn, metadata }, [])
    expect(named.session).toMatchObject({ id: ID })
    expect(sessionOf({ 'x-claude-code-session-id': 'header' }, named.session)?.id).toBe('header')
    expect(sessionOf({}, named.session)?.id).toBe(ID)
    expect(sessionOf({}, chat({ messages: turn }, []).session)).toBeUndefined()
  })
})

test('any id of a client is bounded, and equal ids stay equal', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (id) => {
      const session = sessionOf({ 'x-session-id': id }, undefined)
      if (id.trim() === '') expect(session).toBeUndefined()
      else expect(session!.id).toMatch(/^[\x21-\x7e]{1,128}$/)
      expect(sessionOf({ 'x-session-id': id }, undefined)).toEqual(session)
    }),
  )
})

describe('requests prefer one target', () => {
  const session: Session = { id: ID }
  test('of the same account and session', () => {
    expect(affinityKeyOf('acc', session)).toBe(affinityKeyOf('acc', { ...session, parentAgentId: 'x' }))
    expect(affinityKeyOf('acc', session)).toMatch(/^[\w-]{43}$/)
    expect(affinityKeyOf('acc', session)).not.toContain(ID)
  })

  test('that share a prompt cache by the client’s own word', () => {
    const key = affinityKeyOf('acc', { id: 'one', cacheKey: 'shared' })
    expect(affinityKeyOf('acc', { id: 'two', agentId: 'a', cacheKey: 'shared' })).toBe(key)
  })

  test.each<[string, string, Session]>([
    ['another account', 'other', session],
    ['another session', 'acc', { id: 'other' }],
    ['an agent of the session, which has a prompt of its own', 'acc', { ...session, agentId: AGENT }],
    ['a cache key of the same letters', 'acc', { ...session, cacheKey: ID }],
  ])('but not with those of %s', (_, account, other) => {
    expect(affinityKeyOf(account, other)).not.toBe(affinityKeyOf('acc', session))
  })
})
