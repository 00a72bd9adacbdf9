import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { loadDefaultConfig } from '@gateway/config/load-config'
import { endUserOf, endUserOfUserId, hashEndUser } from './end-user.ts'
import { KINDS } from './kinds.ts'

const { models } = loadDefaultConfig().config
const messages = [{ role: 'user', content: 'hello' }]

test('the hash of a user is the documented one, and differs by project', () => {
  const digest = createHash('sha256').update('Tag12345\nalice@example.com').digest('base64url')
  expect(hashEndUser('Tag12345', 'alice@example.com')).toBe(digest.slice(0, 22))
  expect(hashEndUser('Tag12346', 'alice@example.com')).not.toBe(digest.slice(0, 22))
})

test('a user is named by safety_identifier, or by the older user; anything but a text names none', () => {
  expect(endUserOf({ safety_identifier: 'new', user: 'old' })).toBe('new')
  expect(endUserOf({ user: 'old' })).toBe('old')
  for (const user of [undefined, null, '', 7, {}]) expect(endUserOf({ user })).toBeUndefined()
})

describe('of each API', () => {
  test.each([
    ['chat', { messages, user: 'alice' }],
    ['responses', { input: 'hello', safety_identifier: 'alice' }],
    ['compact', { model: 'svc-core', input: 'hello', user: 'alice' }],
    ['embeddings', { model: 'svc-embed', input: 'hello', user: 'alice' }],
    ['images', { prompt: 'a boat', user: 'alice' }],
    ['messages', { model: 'svc-core', max_tokens: 9, messages, metadata: { user_id: 'alice' } }],
  ] as const)('the user of %s is read', (kind, body) => {
    expect(KINDS[kind](body, models).endUser).toBe('alice')
  })
})

test.each([
  ['user_a1b2_account__session_0b5f6c1e-8f3f-4c54-a0f3-1d9d6e6a3f10', 'user_a1b2_account_'],
  ['{"device_id":"d1","account_uuid":"","session_id":"s1"}', '{"device_id":"d1","account_uuid":""}'],
  ['{"session_id":"s1"}', undefined],
  ['{not json', '{not json'],
  ['[1]', '[1]'],
  ['', undefined],
])('two sessions of a coding tool are of one user: %s', (userId, user) => {
  expect(endUserOfUserId(userId)).toBe(user)
})
