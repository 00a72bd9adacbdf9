/** A chat request is read and written in parts, since most of a coding tool's is not the gateway's to change. */

import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sealInId } from '../core/reasoning-state.ts'
import { AccountSeal, deriveStateKeys } from '../core/state-seal.ts'
import { VENDOR_PROFILES } from '../vendors/index.ts'
import { policiesFor } from '../vendors/policies.ts'
import { dialectRoute } from './dialects.ts'

const secrets = [{ masterKeyId: '0123456789ab', secret: randomBytes(32).toString('base64url') }]
const keys = deriveStateKeys({ secrets })
const states = new AccountSeal(() => keys, 'acc')
const profile = VENDOR_PROFILES.gemini

function requestOf(body: object) {
  return dialectRoute('chat', ['chat']).dialect.request({
    kind: 'chat',
    body: Buffer.from(JSON.stringify(body)),
    model: 'gemini-2.5-flash',
    stream: false,
    maxTokens: undefined,
    form: [],
    profile,
    policy: policiesFor(profile, 'gemini-2.5-flash', { allowParameters: [] }).chat,
    states,
    stateKind: 'gemini gemini-2.5-flash',
  })
}

/** The state of another model, which no target but that one gets. */
function sealed(id: string): string {
  return sealInId({ states }, id, [{ kind: 'another', value: { on: 'call', id }, text: 0, calls: 0 }])!
}

const words = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('~svc', '"messages":[', '\\"', ']}'))
const message = fc.oneof(
  fc.record({ role: fc.constantFrom('user', 'system'), content: words }),
  fc.record({ role: fc.constant('user'), content: fc.array(fc.record({ type: fc.constant('text'), text: words })) }),
)
const call = fc.record({ id: fc.string({ minLength: 1 }).map((id) => `call ${id}`), said: words, result: words })
type Call = typeof call extends fc.Arbitrary<infer One> ? One : never

function turnOf({ id, said, result }: Call, own: (id: string) => string): object[] {
  const called = { id: own(id), type: 'function', function: { name: 'look', arguments: JSON.stringify({ said }) } }
  return [
    { role: 'assistant', content: null, tool_calls: [called] },
    { role: 'tool', tool_call_id: own(id), content: result },
  ]
}

const member = fc.tuple(
  fc.oneof(fc.constantFrom('tools', 'temperature', 'seed', 'cached_content', 'n\\"'), fc.string()),
  fc.jsonValue(),
)

test('a chat request with sealed ids reaches its target as the same request with its own ids, and loses the same members', () => {
  fc.assert(
    fc.property(
      fc.array(member),
      fc.array(member),
      fc.array(fc.oneof(message, call), { minLength: 1, maxLength: 6 }),
      (before, after, turns) => {
        const bodyWith = (own: (id: string) => string) => {
          const messages = turns.flatMap((turn) => ('role' in turn ? [turn] : turnOf(turn, own)))
          const others = (members: [string, unknown][]) => members.filter(([name]) => name !== 'messages')
          return Object.fromEntries([...others(before), ['messages', messages], ...others(after)])
        }
        const tokens = new Map<string, string>()
        const tokenOf = (id: string) => tokens.get(id) ?? tokens.set(id, sealed(id)).get(id)!
        const [opened, own] = [requestOf(bodyWith(tokenOf)), requestOf(bodyWith((id) => id))]
        expect(opened.body.toString()).toBe(own.body.toString())
        expect(opened.dropped).toEqual(own.dropped)
      },
    ),
  )
})
