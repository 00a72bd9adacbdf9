import type { FindSessionReply } from '@gateway/contracts/developer-keys-api'
import { expect, test } from 'vitest'
import { endsKey } from './keys.ts'

const KEY = { owner: { issuer: 'https://id.example', subject: 'alice' }, keyHash: 'hash-of-it' }
const found = (ticket?: string): FindSessionReply => {
  return { kind: 'found', account: 'acct0001', keyId: 'key00001', keyHash: KEY.keyHash, plan: 'free', ticket }
}

/** A keys service that gives these tickets and takes the last one; and what it was asked. */
function serve(...tickets: (FindSessionReply | 'fails')[]) {
  const asked: object[] = []
  const session = async (question: object) => {
    asked.push(question)
    const reply = tickets.shift()
    if (!reply || reply === 'fails') throw new Error('no answer')
    return reply
  }
  const end = async (question: object) => {
    asked.push(question)
    return tickets.length === 0 ? { kind: 'revoked' } : { kind: 'invalid', isLate: true }
  }
  return { asked, revoke: endsKey(session, end) }
}

test('a key is ended under a ticket', async () => {
  const { asked, revoke } = serve(found('ticket-1'))
  expect(await revoke(KEY)).toEqual({ kind: 'revoked' })
  expect(asked).toEqual([
    { owner: KEY.owner, toEnd: KEY.keyHash },
    { ...KEY, ticket: 'ticket-1' },
  ])
})

test('a ticket that a mint has voided is replaced while the client waits', async () => {
  const { asked, revoke } = serve(found('ticket-1'), found('ticket-2'))
  expect(await revoke(KEY)).toEqual({ kind: 'revoked' })
  expect(asked.at(-1)).toEqual({ ...KEY, ticket: 'ticket-2' })
})

test('mints without end make it a 503', async () => {
  const { revoke } = serve(...Array.from({ length: 50 }, () => found('ticket')))
  await expect(revoke(KEY)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})

test('without an answer about the ticket nothing is sent that could end the key', async () => {
  const { asked, revoke } = serve('fails')
  await expect(revoke(KEY)).rejects.toThrow('no answer')
  expect(asked).toHaveLength(1)
})

test('a key that is dead, or a former keys service, needs no ticket', async () => {
  for (const session of [{ kind: 'none' } as const, found()]) {
    const { asked, revoke } = serve(session)
    expect(await revoke(KEY)).toEqual({ kind: 'revoked' })
    expect(asked.at(-1)).toEqual(KEY)
  }
})
