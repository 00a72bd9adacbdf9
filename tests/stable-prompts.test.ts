/**
 * Prompt caches compare a request with former ones from its beginning. So a conversation that has grown by a turn is sent with
 * the same bytes as before, up to the new turn, by every route. The tools stand in front of it, and equal requests are equal
 * bytes.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { inPromptOrder } from '../services/edge/src/core/write-body.ts'
import { KINDS } from '../services/edge/src/requests/kinds.ts'
import { leaveOutAttribution } from '../services/router/src/core/attribution.ts'
import { dialectRoute } from '../services/router/src/dialects/dialects.ts'
import { VENDOR_PROFILES } from '../services/router/src/vendors/index.ts'
import { plain } from '../services/router/src/vendors/plain.ts'
import { policiesFor } from '../services/router/src/vendors/policies.ts'
import type { VendorProfile } from '../services/router/src/vendors/profile.ts'

interface Call {
  name: string
  input: object
  result: string
  /** The result has a picture beside its text. */
  hasPicture: boolean
}

/** The user's words or the results of the last calls, and the model's response. */
interface Turn {
  words: string
  /** Words of the client's own, in the role of the system. */
  reminder: string | null
  thought: string | null
  /** The vendor of the thought has signed it. */
  isSigned: boolean
  said: string
  calls: Call[]
}

interface Conversation {
  system: string
  tools: string[]
  turns: Turn[]
  /** Some vendors take no such id, and get another. */
  idPrefix: string
}

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

const SCHEMA = { type: 'object', properties: { path: { type: 'string' }, lines: { type: 'integer' } } }
const PICTURE = 'AA=='

type Step =
  | { user: string | null; reminder: string | null; results: [id: string, call: Call][] }
  | { model: Turn; at: number }

/** The first `count` turns, the last one without its response. */
function stepsOf({ turns }: Conversation, count: number, idOf: (at: number, of: number) => string): Step[] {
  const steps: Step[] = []
  turns.slice(0, count).forEach((each, at) => {
    const before = turns[at - 1]
    const results = before?.calls.map((made, of): [string, Call] => [idOf(at - 1, of), made]) ?? []
    const isNew = before === undefined || before.calls.length === 0
    steps.push({ user: isNew ? each.words : null, reminder: each.reminder, results })
    if (at < count - 1) steps.push({ model: each, at })
  })
  return steps
}

/** The nth turn's request, as its client writes it. Only the attribution block has changed since the turn before. */
type Write = (conversation: Conversation, count: number) => Record<string, unknown>

const blockOf = (count: number) => `x-anthropic-billing-header: cc_version=2.1.42.a3f; cch=${count}fa0e;`
const said = ({ said: own, calls }: Turn) => (own === '' && calls.length === 0 ? 'Done.' : own)

const WRITERS: Record<ClientDialect, Write> = {
  chat: (given, count) => {
    const id = (at: number, of: number) => `${given.idPrefix}${at}${of}`
    const messages = stepsOf(given, count, id).flatMap((step): object[] => {
      if ('model' in step) {
        const { thought, calls } = step.model
        const tool_calls = calls.map(({ name, input }, of) => {
          return { id: id(step.at, of), type: 'function', function: { name, arguments: JSON.stringify(input) } }
        })
        const reasoning = thought === null ? {} : { reasoning_content: thought }
        const made = calls.length > 0 ? { tool_calls } : {}
        return [{ role: 'assistant', content: said(step.model), ...reasoning, ...made }]
      }
      return [
        ...step.results.map(([of, { result }]) => ({ role: 'tool', tool_call_id: of, content: result })),
        ...(step.user === null ? [] : [{ role: 'user', content: step.user }]),
        ...(step.reminder === null ? [] : [{ role: 'system', content: step.reminder }]),
      ]
    })
    const tools = given.tools.map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } }))
    const prompt = { role: 'system', content: `${blockOf(count)}\n${given.system}` }
    return { messages: [prompt, ...messages], tools, max_tokens: 50, temperature: 1 }
  },
  messages: (given, count) => {
    const id = (at: number, of: number) => `${given.idPrefix}${at}${of}`
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } }
    const messages = stepsOf(given, count, id).flatMap((step): object[] => {
      if ('model' in step) {
        const { thought, isSigned, calls } = step.model
        const thinking = { type: 'thinking', thinking: thought, signature: isSigned ? 'EqQB' : 'svc_unsigned' }
        const content = [
          ...(thought === null ? [] : [thinking]),
          ...(said(step.model) === '' ? [] : [{ type: 'text', text: said(step.model) }]),
          ...calls.map(({ name, input }, of) => ({ type: 'tool_use', id: id(step.at, of), name, input })),
        ]
        return [{ role: 'assistant', content }]
      }
      const content = [
        ...step.results.map(([of, { result, hasPicture }]) => {
          const parts = [{ type: 'text', text: result }, ...(hasPicture ? [picture] : [])]
          return { type: 'tool_result', tool_use_id: of, content: parts }
        }),
        ...(step.user === null ? [] : [{ type: 'text', text: step.user }]),
      ]
      return [
        { role: 'user', content },
        ...(step.reminder === null ? [] : [{ role: 'system', content: step.reminder }]),
      ]
    })
    const tools = given.tools.map((name) => ({ name, description: name, input_schema: SCHEMA }))
    const system = [blockOf(count), given.system].map((one) => ({ type: 'text', text: one }))
    return { messages, system, tools, max_tokens: 50, temperature: 1 }
  },
  responses: (given, count) => {
    const id = (at: number, of: number) => `${given.idPrefix}${at}${of}`
    const picture = { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` }
    const input = stepsOf(given, count, id).flatMap((step): object[] => {
      if ('model' in step) {
        const { thought, isSigned, calls } = step.model
        const reasoning = { type: 'reasoning', summary: [{ type: 'summary_text', text: thought }] }
        const content = [{ type: 'output_text', text: said(step.model) }]
        return [
          ...(thought === null ? [] : [isSigned ? { ...reasoning, encrypted_content: 'gAAA' } : reasoning]),
          ...(said(step.model) === '' ? [] : [{ type: 'message', role: 'assistant', content }]),
          ...calls.map(({ name, input: made }, of) => {
            return { type: 'function_call', call_id: id(step.at, of), name, arguments: JSON.stringify(made) }
          }),
        ]
      }
      return [
        ...step.results.map(([of, { result, hasPicture }]) => {
          const output = hasPicture ? [{ type: 'input_text', text: result }, picture] : result
          return { type: 'function_call_output', call_id: of, output }
        }),
        ...(step.user === null ? [] : [{ role: 'user', content: [{ type: 'input_text', text: step.user }] }]),
        ...(step.reminder === null ? [] : [{ role: 'developer', content: step.reminder }]),
      ]
    })
    const tools = given.tools.map((name) => ({ type: 'function', name, parameters: SCHEMA, strict: false }))
    const prompt = { role: 'developer', content: blockOf(count) }
    return { input: [prompt, ...input], instructions: given.system, tools, max_output_tokens: 50, temperature: 1 }
  },
}

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
          const shorter = split(route, sentBy(route, WRITERS[route.client](given, count)))
          const longer = split(route, sentBy(route, WRITERS[route.client](given, count + 1)))
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
      const members = Object.entries(WRITERS[route.client](given, given.turns.length))
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
