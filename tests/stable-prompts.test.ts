/**
 * Prompt caches compare a request with former ones from its beginning. So a conversation that has grown by a turn is sent with
 * the same bytes as before, up to the new turn, by every route. The tools stand in front of it, and equal requests are equal
 * bytes.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import type { Call, Conversation, Turn } from '@gateway/testing/conversation'
import { inPromptOrder } from '../services/edge/src/core/write-body.ts'
import { KINDS } from '../services/edge/src/requests/kinds.ts'
import { leaveOutAttribution } from '../services/router/src/core/attribution.ts'
import { dialectRoute } from '../services/router/src/dialects/dialects.ts'
import { VENDOR_PROFILES } from '../services/router/src/vendors/index.ts'
import { plain } from '../services/router/src/vendors/plain.ts'
import { policiesFor } from '../services/router/src/vendors/policies.ts'
import type { VendorProfile } from '../services/router/src/vendors/profile.ts'

const text = fc.string({ unit: fc.constantFrom('a', 'é', ' ', '"', '\\', '\n', '7'), minLength: 1, maxLength: 12 })
const words = text.map((written) => `w${written}`)
const call = fc.record<Call>({
  name: fc.constantFrom('look', 'write'),
  input: fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.oneof(words, fc.integer(), fc.boolean()), { maxKeys: 3 }),
  result: words,
  hasPicture: fc.boolean(),
})
const turn = fc.record<Turn>({
  words,
  reminder: fc.option(words),
  thought: fc.option(words),
  isSigned: fc.boolean(),
  said: fc.oneof(fc.constant(''), words),
  calls: fc.array(call, { maxLength: 2 }),
})
const conversation = fc.record<Conversation>({
  system: words,
  tools: fc.uniqueArray(fc.constantFrom('look', 'write', 'think', 'search'), { minLength: 1 }),
  turns: fc.array(turn, { minLength: 2, maxLength: 6 }),
  idPrefix: fc.constantFrom('call_', 'toolu_01', 'a b:'),
})

/** Vendors with rules of their own for ids, thoughts and the order of turns. */
const VENDORS: Partial<Record<TargetDialect, [model: string, profile: VendorProfile][]>> = {
  chat: [
    ['gpt-5.2', VENDOR_PROFILES.openai],
    ['mistral-large', VENDOR_PROFILES.mistral],
    ['gemini-3-pro', VENDOR_PROFILES.gemini],
    ['qwen', VENDOR_PROFILES.vllm],
  ],
  responses: [['gpt-5.2', VENDOR_PROFILES.openai]],
  messages: [['claude-opus-4-8', VENDOR_PROFILES.anthropic]],
}
const LOCAL: [model: string, profile: VendorProfile] = ['local', plain]

interface Route {
  client: ClientDialect
  target: TargetDialect
  model: string
  profile: VendorProfile
}

const routes = clientDialects.flatMap((client) =>
  targetDialects.flatMap((target) =>
    [LOCAL, ...(VENDORS[target] ?? [])].map(([model, profile]): Route => ({ client, target, model, profile })),
  ),
)

/** The request's bytes as edge and router write them. */
function sentBy({ client, target, model, profile }: Route, request: object): string {
  const { body, members = [] } = KINDS[client]({ model: 'lane', stream: true, ...request }, [])
  const form = target === 'chat' ? profile.rejectedParameters(model) : []
  const policy = policiesFor(profile, model, { allowParameters: [] })[target]
  const { dialect } = dialectRoute(client, [target])
  const left = leaveOutAttribution(Buffer.from(inPromptOrder(body, members)))
  const clientRequest = { kind: 'chat' as const, body: left, model, stream: true, maxTokens: undefined }
  return dialect.request({ ...clientRequest, form, profile, policy }).body.toString()
}

/** The list of messages, and the bytes before and behind it. */
function split({ target }: Route, sent: string): { before: string; list: string; behind: string } {
  const member = target === 'responses' ? 'input' : 'messages'
  const list = JSON.stringify((JSON.parse(sent) as Record<string, unknown>)[member])
  const at = sent.indexOf(`"${member}":${list}`)
  expect(at).toBeGreaterThan(0)
  const begin = at + member.length + 3
  return { before: sent.slice(0, begin), list, behind: sent.slice(begin + list.length) }
}

describe.each(routes)('from a $client client to a $target target of $model', (route) => {
  test('a conversation that has grown by a turn begins with the bytes of the turn before', () => {
    fc.assert(
      fc.property(conversation, (given) => {
        for (let count = 1; count < given.turns.length; count++) {
          const shorter = split(route, sentBy(route, CLIENTS[route.client].conversation(given, count)))
          const longer = split(route, sentBy(route, CLIENTS[route.client].conversation(given, count + 1)))
          expect(longer.before).toBe(shorter.before)
          expect(longer.behind).toBe(shorter.behind)
          expect(longer.list.slice(0, shorter.list.length - 1)).toBe(shorter.list.slice(0, -1))
          expect([shorter.before.includes('"tools":'), shorter.behind]).toEqual([
            true,
            expect.not.stringMatching('tools'),
          ])
        }
      }),
      { numRuns: 60 },
    )
  })

  test('equal requests are equal bytes, also where their client writes the members in another order', () => {
    const shuffled = conversation.chain((given) => {
      const members = Object.entries(CLIENTS[route.client].conversation(given, given.turns.length))
      return fc.tuple(fc.constant(members), fc.shuffledSubarray(members, { minLength: members.length }))
    })
    fc.assert(
      fc.property(shuffled, ([members, others]) => {
        expect(sentBy(route, Object.fromEntries(others))).toBe(sentBy(route, Object.fromEntries(members)))
      }),
      { numRuns: 30 },
    )
  })
})
