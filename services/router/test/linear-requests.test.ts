/**
 * A request takes time in proportion to its bytes, for all kinds of content. Each kind of item is there in thousands,
 * once and twice as often, on the way from each client's dialect to each target's.
 */

import { ExactNumber } from '@gateway/contracts/json'
import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects, type ClientDialect } from '@gateway/contracts/vendors'
import { cpuGrowth, LINEAR_BELOW } from '@gateway/testing/cpu-growth'
import { BackendFault } from '../src/core/backend-fault.ts'
import type { ClientRequest } from '../src/dialects/dialect.ts'
import { dialectRoute } from '../src/dialects/dialects.ts'
import { VENDOR_PROFILES } from '../src/vendors/index.ts'
import { policiesFor } from '../src/vendors/policies.ts'

type Make = (count: number) => object

const many = <Item>(count: number, item: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => item(at))
const letters = (count: number, of = 'a') => of.repeat(count)

const USER = { role: 'user', content: 'Hello' }
const chatCall = (at: number, args = '{}') => ({
  id: `call_${at}!`,
  type: 'function',
  function: { name: `f${at}`, arguments: args },
})
const chatResult = (at: number) => ({ role: 'tool', tool_call_id: `call_${at}!`, content: 'done' })
const chatOf = (...messages: object[]) => ({ messages: [USER, ...messages] })
const partsOf = (role: string, count: number, part: (at: number) => object) =>
  chatOf({ role, content: many(count, part) })
const picture = (url: string) => ({ type: 'image_url', image_url: { url } })
const TEXT = (at: number) => ({ type: 'text', text: `text ${at}` })

const OF_CHAT: Record<string, Make> = {
  'texts of the user': (n) => chatOf(...many(n, (at) => ({ role: 'user', content: `text ${at}` }))),
  'texts of the assistant': (n) => chatOf(...many(n, (at) => ({ role: 'assistant', content: `text ${at}` }))),
  'texts of the system': (n) => chatOf(...many(n, (at) => ({ role: 'system', content: `text ${at}` }))),
  'texts of the developer': (n) => chatOf(...many(n, (at) => ({ role: 'developer', content: `text ${at}` }))),
  turns: (n) => chatOf(...many(n, (at) => ({ role: at % 2 ? 'user' : 'assistant', content: `text ${at}` }))),
  'parts of the user': (n) => partsOf('user', n, TEXT),
  'parts of the assistant': (n) => partsOf('assistant', n, (at) => ({ type: 'refusal', refusal: `no ${at}` })),
  'parts of the system': (n) => partsOf('system', n, (at) => ({ ...TEXT(at), cache_control: { type: 'ephemeral' } })),
  pictures: (n) => partsOf('user', n, () => picture('data:image/png;base64,AAAA')),
  files: (n) => partsOf('user', n, () => ({ type: 'file', file: { file_data: 'data:text/plain;base64,AAAA' } })),
  'calls of one turn': (n) =>
    chatOf({ role: 'assistant', content: null, tool_calls: many(n, (at) => chatCall(at)) }, ...many(n, chatResult)),
  'calls of a turn each': (n) =>
    chatOf(
      ...many(n, (at) => at).flatMap((at) => [
        { role: 'assistant', content: '', tool_calls: [chatCall(at)] },
        chatResult(at),
      ]),
    ),
  'parts of a result': (n) => chatOf({ role: 'tool', tool_call_id: 'a', content: many(n, TEXT) }),
  tools: (n) => ({ ...chatOf(), tools: many(n, (at) => ({ type: 'function', function: { name: `f${at}` } })) }),
  'tools that call another model': (n) => ({ ...chatOf(), tools: many(n, (at) => ({ type: `advisor_${at}` })) }),
  'models to fall back on': (n) => ({ ...chatOf(), models: many(n, (at) => `m${at}`) }),
  members: (n) => ({ ...chatOf(), ...Object.fromEntries(many(n, (at) => [`x${at}`, at])) }),
  'numbers of many digits': (n) => ({ ...chatOf(), seeds: many(n, () => new ExactNumber('12345678901234567.89')) }),
  stops: (n) => ({ ...chatOf(), stop: many(n, (at) => `s${at}`) }),
  'levels of arguments': (n) => chatOf({ role: 'assistant', tool_calls: [chatCall(0, '['.repeat(n))] }, chatResult(0)),
  'letters of a text': (n) => chatOf({ role: 'user', content: letters(100 * n) }),
  'spaces of a text': (n) => chatOf({ role: 'user', content: letters(100 * n, ' ') }),
  'quotes of a text': (n) => chatOf({ role: 'user', content: letters(100 * n, '"\\') }),
  'letters of an id': (n) => chatOf({ role: 'tool', tool_call_id: letters(100 * n), content: '' }),
  'quotes of an id': (n) => chatOf({ role: 'tool', tool_call_id: letters(100 * n, '\\"'), content: '' }),
  'letters of a data address': (n) => partsOf('user', 1, () => picture(`data:${letters(n)}`)),
  'semicolons of a data address': (n) => partsOf('user', 1, () => picture(`data:a${letters(n, ';base64')}`)),
  'letters of a file': (n) => partsOf('user', 1, () => ({ type: 'file', file: { file_data: `data:${letters(n)}` } })),
  'letters of arguments': (n) =>
    chatOf({ role: 'assistant', tool_calls: [chatCall(0, `{"a":"${letters(100 * n)}"}`)] }, chatResult(0)),
  'spaces of arguments': (n) =>
    chatOf({ role: 'assistant', tool_calls: [chatCall(0, letters(100 * n, ' '))] }, chatResult(0)),
  'letters of an effort': (n) => ({ ...chatOf(), reasoning_effort: letters(100 * n) }),
}

const itemOf = (role: string) => (at: number) => ({ type: 'message', role, content: `text ${at}` })
const call = (at: number) => ({ type: 'function_call', call_id: `c${at}`, name: `f${at}`, arguments: '{}' })
const output = (at: number) => ({ type: 'function_call_output', call_id: `c${at}`, output: 'done' })
const thought = (at: number) => ({ type: 'reasoning', id: `r${at}`, summary: [], content: [TEXT(at)] })
const inputOf = (...input: object[]) => ({ input: [{ role: 'user', content: 'Hello' }, ...input] })

const OF_RESPONSES: Record<string, Make> = {
  'texts of the user': (n) => inputOf(...many(n, itemOf('user'))),
  'texts of the assistant': (n) => inputOf(...many(n, itemOf('assistant'))),
  'texts of the system': (n) => ({ input: many(n, itemOf('system')) }),
  'texts of the system, later': (n) => inputOf(...many(n, itemOf('system'))),
  turns: (n) => inputOf(...many(n, (at) => itemOf(at % 2 ? 'user' : 'assistant')(at))),
  thoughts: (n) => inputOf(...many(n, thought)),
  'texts of one thought': (n) => inputOf({ type: 'reasoning', summary: many(n, TEXT) }),
  'texts behind a call': (n) => inputOf(call(0), ...many(n, itemOf('assistant')), output(0)),
  'calls of one turn': (n) => inputOf(...many(n, call), ...many(n, output)),
  'calls of a turn each': (n) => inputOf(...many(n, (at) => at).flatMap((at) => [call(at), output(at)])),
  'calls of custom tools': (n) =>
    inputOf(
      ...many(n, (at) => ({ type: 'custom_tool_call', call_id: `c${at}`, name: 'f', input: 'x' })),
      ...many(n, (at) => ({
        type: 'custom_tool_call_output',
        call_id: `c${at}`,
        output: [{ type: 'input_text', text: 'x' }],
      })),
    ),
  'parts of a text': (n) =>
    inputOf({ role: 'user', content: many(n, (at) => ({ type: 'input_text', text: `text ${at}` })) }),
  'parts of the system': (n) =>
    inputOf({ role: 'developer', content: many(n, (at) => ({ type: 'input_text', text: `text ${at}` })) }),
  'pictures of the system': (n) =>
    inputOf({ role: 'developer', content: many(n, () => ({ type: 'input_image', image_url: 'https://a.test' })) }),
  'pictures of a result': (n) =>
    inputOf(call(0), {
      ...output(0),
      output: many(n, () => ({ type: 'input_image', image_url: 'data:image/png;base64,AAAA' })),
    }),
  tools: (n) => ({ ...inputOf(), tools: many(n, (at) => ({ type: 'function', name: `f${at}`, parameters: {} })) }),
  'tools of a choice': (n) => ({
    ...inputOf(),
    tools: many(n, (at) => ({ type: 'function', name: `f${at}` })),
    tool_choice: {
      type: 'allowed_tools',
      mode: 'auto',
      tools: many(n, (at) => ({ type: 'function', name: `f${at}` })),
    },
  }),
  'tools of a namespace': (n) => ({
    ...inputOf(),
    tools: [{ type: 'namespace', name: 'n', tools: many(n, (at) => ({ type: 'function', name: `f${at}` })) }],
  }),
  'tools of a namespace each': (n) => ({
    ...inputOf(),
    tools: many(n, (at) => ({ type: 'namespace', name: `n${at}`, tools: [{ type: 'custom', name: 'f' }] })),
    tool_choice: { type: 'custom', name: 'f' },
  }),
  'tools that come later': (n) =>
    inputOf(...many(n, (at) => ({ type: 'additional_tools', tools: [{ type: 'function', name: `f${at}` }] }))),
  'tools that come at once': (n) =>
    inputOf({ type: 'additional_tools', tools: many(n, (at) => ({ type: 'function', name: `f${at}` })) }),
  'tools of kinds that nobody knows': (n) => ({ ...inputOf(), tools: many(n, (at) => ({ type: `hosted_${at}` })) }),
  'tools that call another model': (n) => ({ ...inputOf(), tools: many(n, (at) => ({ type: `advisor_${at}` })) }),
  'items of the vendor': (n) => inputOf(...many(n, (at) => ({ type: `mcp_call_${at}` }))),
  inclusions: (n) => ({ ...inputOf(), include: many(n, (at) => `i${at}`) }),
  members: (n) => ({ ...inputOf(), ...Object.fromEntries(many(n, (at) => [`x${at}`, at])) }),
  'letters of a text': (n) => ({ input: letters(100 * n) }),
  'letters of an address': (n) =>
    inputOf({ role: 'user', content: [{ type: 'input_image', image_url: `data:${letters(n)}` }] }),
  'letters of a kind': (n) => inputOf({ type: `mcp_${letters(100 * n)}` }),
}

const block = (at: number) => ({ type: 'text', text: `text ${at}` })
const use = (at: number) => ({ type: 'tool_use', id: `t${at}!`, name: `f${at}`, input: { at } })
const result = (at: number, content: unknown = 'done') => ({ type: 'tool_result', tool_use_id: `t${at}!`, content })
const dialogOf = (...messages: object[]) => ({ max_tokens: 9, messages: [USER, ...messages] })
const blocksOf = (role: string, count: number, make: (at: number) => object) =>
  dialogOf({ role, content: many(count, make) }, USER)

const OF_MESSAGES: Record<string, Make> = {
  'texts of the user': (n) => dialogOf(...many(n, (at) => ({ role: 'user', content: `text ${at}` }))),
  'blocks of the user, a message each': (n) =>
    dialogOf(...many(n, (at) => ({ role: 'user', content: [block(at), block(at)] }))),
  'texts of the assistant': (n) => dialogOf(...many(n, (at) => ({ role: 'assistant', content: `text ${at}` }))),
  'texts of the system': (n) => dialogOf(...many(n, (at) => ({ role: 'system', content: `text ${at}` }))),
  turns: (n) => dialogOf(...many(n, (at) => ({ role: at % 2 ? 'user' : 'assistant', content: `text ${at}` }))),
  'blocks of the system': (n) => ({ ...dialogOf(), system: many(n, block) }),
  'blocks of the user': (n) => blocksOf('user', n, block),
  'blocks of the assistant': (n) => blocksOf('assistant', n, block),
  summaries: (n) => blocksOf('assistant', n, (at) => ({ type: 'compaction', content: `text ${at}` })),
  thoughts: (n) => blocksOf('assistant', n, () => ({ type: 'thinking', thinking: 'so', signature: 'x' })),
  'thoughts without a signature': (n) =>
    blocksOf('assistant', n, () => ({ type: 'thinking', thinking: 'so', signature: 'svc_unsigned' })),
  'calls of one turn': (n) =>
    dialogOf({ role: 'assistant', content: many(n, use) }, { role: 'user', content: many(n, (at) => result(at)) }),
  'calls of a turn each': (n) =>
    dialogOf(
      ...many(n, (at) => at).flatMap((at) => [
        { role: 'assistant', content: [use(at)] },
        { role: 'user', content: [result(at)] },
      ]),
    ),
  pictures: (n) => blocksOf('user', n, () => ({ type: 'image', source: { type: 'url', url: 'https://a.test' } })),
  'pictures of a result': (n) =>
    dialogOf(
      { role: 'assistant', content: [use(0)] },
      {
        role: 'user',
        content: [
          result(
            0,
            many(n, () => ({ type: 'image', source: { type: 'url', url: 'https://a.test' } })),
          ),
        ],
      },
    ),
  'blocks of a document': (n) =>
    dialogOf({ role: 'user', content: [{ type: 'document', source: { type: 'content', content: many(n, block) } }] }),
  tools: (n) => ({ ...dialogOf(), tools: many(n, (at) => ({ name: `f${at}`, input_schema: { type: 'object' } })) }),
  'tools of the vendor': (n) => ({ ...dialogOf(), tools: many(n, (at) => ({ type: `tool_${at}`, name: `f${at}` })) }),
  'tools that call another model': (n) => ({ ...dialogOf(), tools: many(n, (at) => ({ type: `advisor_${at}` })) }),
  'members of tools': (n) => ({ ...dialogOf(), tools: many(n, (at) => ({ name: `f${at}`, [`x${at}`]: 1 })) }),
  members: (n) => ({ ...dialogOf(), ...Object.fromEntries(many(n, (at) => [`x${at}`, at])) }),
  stops: (n) => ({ ...dialogOf(), stop_sequences: many(n, (at) => `s${at}`) }),
  'letters of a text': (n) => dialogOf({ role: 'user', content: letters(100 * n) }),
  'letters of a user': (n) => ({ ...dialogOf(), metadata: { user_id: letters(100 * n) } }),
  'letters of data': (n) =>
    blocksOf('user', 1, () => ({ type: 'image', source: { type: 'base64', media_type: 'a', data: letters(100 * n) } })),
}

const KINDS: Record<ClientDialect, Record<string, Make>> = {
  chat: OF_CHAT,
  responses: OF_RESPONSES,
  messages: OF_MESSAGES,
}

/** Rules of some vendors read a request once more. */
const TARGETS: Partial<ClientRequest>[] = [
  { model: 'm', form: [] },
  {
    profile: VENDOR_PROFILES.mistral,
    model: 'm',
    form: [{ parameter: 'developer' }, { parameter: 'max_completion_tokens' }, { parameter: 'temperature' }],
    policy: policiesFor(VENDOR_PROFILES.vllm, 'm', { allowParameters: [] }).chat,
  },
  { profile: VENDOR_PROFILES.gemini, model: 'gemini-3-pro', form: [{ parameter: 'system' }] },
]

const ITEMS = 10_000

const dialectPairs = clientDialects.flatMap((client) =>
  targetDialects.flatMap((target) => {
    const route = dialectRoute(client, [target])
    return route ? [{ client, target, dialect: route.dialect }] : []
  }),
)

describe.each(dialectPairs)('$client to $target', ({ client, dialect }) => {
  test.each(Object.entries(KINDS[client]))('twice as many %s take twice the time', (_, make) => {
    for (const target of TARGETS) {
      const growth = cpuGrowth(ITEMS, (count) => {
        const body = Buffer.from(JSON.stringify(make(count)))
        return () => {
          try {
            dialect.request({ ...(target as ClientRequest), kind: 'chat', body, stream: true, maxTokens: undefined })
          } catch (error) {
            // A request may be refused, and soon.
            if (!(error instanceof BackendFault)) throw error
          }
        }
      })
      expect(growth).toBeLessThan(LINEAR_BELOW)
    }
  })
})
