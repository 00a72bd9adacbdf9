/**
 * The state of a model's reasoning goes back to the target that made it, byte for byte, at its place in the turn. That holds for clients
 * of each dialect. Generated conversations go through the real translations, once to the client and once back.
 */

import { randomBytes } from 'node:crypto'
import type { TargetDialect, VendorName } from '@gateway/contracts/vendors'
import { createSseParser } from '@gateway/sse/parse-events'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { faultPageSection } from '@gateway/testing/fault-page'
import { BackendFault } from '../core/backend-fault.ts'
import { kindOfState } from '../core/reasoning-state.ts'
import { AccountSeal, deriveStateKeys, type StateSeal } from '../core/state-seal.ts'
import { VENDOR_PROFILES } from '../vendors/index.ts'
import { dialectRoute } from './dialects.ts'

/** JSON of three APIs, whose members the assertions name. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = Record<string, any>

/** A thought, words and calls of a model, in the order in which it made them. */
type Step = { thought: string; secret: string; isHidden: boolean } | { say: string } | { call: string }
type Turn = Step[]

/** A value of the target's, and its place: characters of text and number of calls before it. */
type Placed = [value: unknown, text: number, calls: number]

/** Clients of these dialects keep the state. */
const CLIENTS = ['chat', 'responses', 'messages'] as const
type Client = (typeof CLIENTS)[number]

interface TargetKind {
  dialect: TargetDialect
  vendor: VendorName
  model: string
  plain(turn: Turn): Json
  events(turn: Turn, pieces: number): Json[]
  /** The state that the target made, as it wants it back. */
  made(turn: Turn): Placed[]
  /** The state in each turn of a request's model. */
  received(request: Json): Placed[][]
}

const isThought = (step: Step): step is Extract<Step, { thought: string }> => 'thought' in step
const isCall = (step: Step): step is { call: string } => 'call' in step
const isSaid = (step: Step): step is { say: string } => 'say' in step
const saidBy = (turn: Turn) =>
  turn
    .filter(isSaid)
    .map(({ say }) => say)
    .join('')
const callsOf = (turn: Turn) => turn.filter(isCall)
const ARGUMENTS = '{"at":1}'

/** In pieces of about one length. */
function cut(text: string, pieces: number): string[] {
  const length = Math.max(1, Math.ceil(text.length / pieces))
  return Array.from({ length: Math.ceil(text.length / length) }, (_, at) => text.slice(at * length, (at + 1) * length))
}

function walk<Item>(
  items: readonly Item[],
  read: (item: Item) => { state?: unknown; text?: string; isCall?: boolean },
): Placed[] {
  let [text, calls] = [0, 0]
  return items.flatMap((item) => {
    const { state, text: said = '', isCall: called = false } = read(item)
    text += said.length
    if (called) calls++
    return state === undefined ? [] : [[state, text, calls] satisfies Placed]
  })
}

const blockOf = (step: Step): Json => {
  if (isSaid(step)) return { type: 'text', text: step.say }
  if (isCall(step)) return { type: 'tool_use', id: step.call, name: 'look', input: JSON.parse(ARGUMENTS) }
  if (step.isHidden) return { type: 'redacted_thinking', data: step.secret }
  return { type: 'thinking', thinking: step.thought, signature: step.secret }
}
const stateOfBlock = (block: Json) => {
  if (block['type'] === 'text') return { text: block['text'] as string }
  if (block['type'] === 'tool_use') return { isCall: true }
  return { state: block }
}

const claude: TargetKind = {
  dialect: 'messages',
  vendor: 'anthropic',
  model: 'claude-sonnet-4-6',
  plain: (turn) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-6',
    content: turn.map(blockOf),
    stop_reason: callsOf(turn).length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 4 },
  }),
  events(turn, pieces) {
    const message = this.plain(turn)
    return [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      ...turn.flatMap((step, index) => [
        ...startOfBlock(blockOf(step), pieces).map((event) => ({ index, ...event })),
        { type: 'content_block_stop', index },
      ]),
      {
        type: 'message_delta',
        delta: { stop_reason: message['stop_reason'], stop_sequence: null },
        usage: { output_tokens: 4 },
      },
      { type: 'message_stop' },
    ]
  },
  made: (turn) => walk(turn.map(blockOf), stateOfBlock),
  received: ({ messages }) =>
    (messages as Json[])
      .filter(({ role }) => role === 'assistant')
      .map(({ content }) => walk(content as Json[], stateOfBlock)),
}

function startOfBlock(block: Json, pieces: number): Json[] {
  const begin = (content_block: Json) => ({ type: 'content_block_start', content_block })
  const delta = (one: Json) => ({ type: 'content_block_delta', delta: one })
  switch (block['type']) {
    case 'text':
      return [
        begin({ type: 'text', text: '' }),
        ...cut(block['text'], pieces).map((text) => delta({ type: 'text_delta', text })),
      ]
    case 'thinking':
      return [
        begin({ type: 'thinking', thinking: '', signature: '' }),
        ...cut(block['thinking'], pieces).map((thinking) => delta({ type: 'thinking_delta', thinking })),
        delta({ type: 'signature_delta', signature: block['signature'] }),
      ]
    case 'tool_use':
      return [
        begin({ ...block, input: {} }),
        ...cut(ARGUMENTS, pieces).map((partial_json) => delta({ type: 'input_json_delta', partial_json })),
      ]
    default:
      return [begin(block)]
  }
}

const itemOf = (step: Step, at: number): Json => {
  if (isSaid(step)) {
    const content = [{ type: 'output_text', text: step.say, annotations: [] }]
    return { type: 'message', id: `msg_${at}`, role: 'assistant', status: 'completed', content }
  }
  if (isCall(step))
    return {
      type: 'function_call',
      id: `fc_${at}`,
      call_id: step.call,
      name: 'look',
      arguments: ARGUMENTS,
      status: 'completed',
    }
  const summary = step.isHidden ? [] : [{ type: 'summary_text', text: step.thought }]
  return { type: 'reasoning', id: `rs_${at}`, summary, encrypted_content: step.secret }
}
const stateOfItem = (item: Json) => {
  if (item['type'] === 'message')
    return { text: (item['content'] as Json[]).map(({ text }) => text as string).join('') }
  if (item['type'] === 'function_call') return { isCall: true }
  return { state: item }
}

const gpt: TargetKind = {
  dialect: 'responses',
  vendor: 'openai',
  model: 'gpt-5.2',
  plain: (turn) => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'gpt-5.2',
    output: turn.map(itemOf),
    usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
  }),
  events(turn, pieces) {
    const response = this.plain(turn)
    const items = turn.flatMap((step, output_index) => {
      const item = itemOf(step, output_index)
      const at = { output_index, item_id: item['id'] as string }
      const added = isSaid(step)
        ? { ...item, content: [] }
        : isCall(step)
          ? { ...item, arguments: '' }
          : { ...item, summary: [] }
      const deltas = isSaid(step)
        ? cut(step.say, pieces).map((delta) => ({ type: 'response.output_text.delta', content_index: 0, delta }))
        : isCall(step)
          ? cut(ARGUMENTS, pieces).map((delta) => ({ type: 'response.function_call_arguments.delta', delta }))
          : step.isHidden
            ? []
            : cut(step.thought, pieces).map((delta) => ({
                type: 'response.reasoning_summary_text.delta',
                summary_index: 0,
                delta,
              }))
      return [
        { type: 'response.output_item.added', output_index, item: added },
        ...deltas.map((event) => ({ ...event, ...at })),
        { type: 'response.output_item.done', output_index, item },
      ]
    })
    const opened = { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } }
    return [opened, ...items, { type: 'response.completed', response }]
  },
  made: (turn) => walk(turn.map(itemOf), stateOfItem),
  received({ input }) {
    const turns: Json[][] = [[]]
    for (const item of input as Json[]) {
      const isModels = item['role'] === 'assistant' || ['reasoning', 'function_call'].includes(item['type'])
      if (isModels) turns.at(-1)!.push(item)
      else if (turns.at(-1)!.length > 0) turns.push([])
    }
    return turns.filter((items) => items.length > 0).map((items) => walk(items, stateOfItem))
  },
}

/** Google signs calls, and a text behind which nothing comes. */
const signature = (thought_signature: string) => ({ extra_content: { google: { thought_signature } } })
const secretBefore = (turn: Turn, at: number) => {
  const before = turn[at - 1]
  return before && isThought(before) ? before.secret : undefined
}
const signedCalls = (turn: Turn) =>
  turn.flatMap((step, at) => {
    if (!isCall(step)) return []
    const secret = secretBefore(turn, at)
    const call = { id: step.call, type: 'function', function: { name: 'look', arguments: ARGUMENTS } }
    return [{ ...call, ...(secret === undefined ? {} : signature(secret)) }]
  })
const choice = (turn: Turn) => (callsOf(turn).length > 0 ? 'tool_calls' : 'stop')
const chunkOf = (delta: Json, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
})
const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
const completionOf = (turn: Turn, message: Json) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: choice(turn) }],
  usage: USAGE,
})
const turnsOf = ({ messages }: Json) => (messages as Json[]).filter(({ role }) => role === 'assistant')

const DUMMY = 'skip_thought_signature_validator'

const gemini: TargetKind = {
  dialect: 'chat',
  vendor: 'gemini',
  model: 'gemini-3-pro-preview',
  plain(turn) {
    const calls = signedCalls(turn)
    const content = saidBy(turn)
    return completionOf(turn, {
      content: content === '' ? null : content,
      ...(calls.length > 0 ? { tool_calls: calls } : { ...signature('of the text') }),
    })
  },
  events(turn, pieces) {
    const calls = signedCalls(turn)
    return [
      chunkOf({ role: 'assistant', content: '' }),
      ...cut(saidBy(turn), pieces).map((content) => chunkOf({ content })),
      // Its calls come whole, some of them in one chunk.
      ...(calls.length > 0
        ? pieces > 1
          ? calls.map((call) => chunkOf({ tool_calls: [call] }))
          : [chunkOf({ tool_calls: calls })]
        : [chunkOf(signature('of the text'))]),
      { ...chunkOf({}, 'stop'), usage: USAGE },
    ]
  },
  made(turn) {
    const calls = signedCalls(turn)
    if (calls.length === 0) return [[signature('of the text').extra_content, 0, 0]]
    return calls.flatMap(({ ...call }: Json, at) =>
      call['extra_content'] ? [[call['extra_content'], 0, at] satisfies Placed] : [],
    )
  },
  received: (request) =>
    turnsOf(request).map(({ extra_content: ofText, tool_calls: calls = [] }) => [
      ...(ofText ? [[ofText, 0, 0] satisfies Placed] : []),
      ...(calls as Json[]).flatMap(({ extra_content: extra }, at) =>
        extra && extra.google.thought_signature !== DUMMY ? [[extra, 0, at] satisfies Placed] : [],
      ),
    ]),
}

const detailsOf = (turn: Turn) =>
  turn.filter(isThought).map(({ thought, secret, isHidden }, index) => {
    const named = { id: `detail-${index}`, format: 'anthropic-claude-v1', index }
    return isHidden
      ? { type: 'reasoning.encrypted', data: secret, ...named }
      : { type: 'reasoning.text', text: thought, signature: secret, ...named }
  })

const openrouter: TargetKind = {
  dialect: 'chat',
  vendor: 'openrouter',
  model: 'anthropic/claude-sonnet-4.6',
  plain(turn) {
    const [content, calls, details] = [
      saidBy(turn),
      signedCalls(turn).map(({ id, type, function: f }) => ({ id, type, function: f })),
      detailsOf(turn),
    ]
    return completionOf(turn, {
      content: content === '' ? null : content,
      reasoning: turn
        .filter((step) => isThought(step) && !step.isHidden)
        .map((step) => (step as { thought: string }).thought)
        .join(''),
      ...(details.length > 0 ? { reasoning_details: details } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    })
  },
  events(turn, pieces) {
    const details = detailsOf(turn)
    let calls = 0
    const chunks = turn.flatMap((step): Json[] => {
      if (isSaid(step)) return cut(step.say, pieces).map((content) => chunkOf({ content }))
      if (isCall(step)) {
        const call = {
          index: calls++,
          id: step.call,
          type: 'function',
          function: { name: 'look', arguments: ARGUMENTS },
        }
        return [chunkOf({ tool_calls: [call] })]
      }
      const { text, signature: signed, ...detail } = details.shift() as Json
      if (text === undefined) return [chunkOf({ reasoning_details: [detail] })]
      return [
        ...cut(text, pieces).map((piece) =>
          chunkOf({ reasoning: piece, reasoning_details: [{ ...detail, text: piece }] }),
        ),
        chunkOf({ reasoning_details: [{ ...detail, signature: signed }] }),
      ]
    })
    return [chunkOf({ role: 'assistant', content: '' }), ...chunks, { ...chunkOf({}, choice(turn)), usage: USAGE }]
  },
  made: (turn) => detailsOf(turn).map((detail) => [detail, 0, 0]),
  received: (request) =>
    turnsOf(request).map(({ reasoning_details: details = [] }) => (details as Json[]).map((one) => [one, 0, 0])),
}

const KINDS = { claude, gpt, gemini, openrouter }

const words = fc
  .string({ minLength: 1, maxLength: 30, unit: fc.constantFrom('a', 'ü', '😀', '"', '\\', '\n', ' ', 'svc', '{') })
  .map((text) => `x${text}x`)
const secret = fc.base64String({ minLength: 4, maxLength: 400 })
const thought = fc.record({ thought: words, secret, isHidden: fc.boolean() })
const lead = fc.array(fc.oneof(thought, fc.record({ say: words })), { maxLength: 4 })
const calls = fc.array(fc.option(thought, { nil: undefined }), { maxLength: 3 })

/** Behind a turn's last thought comes a text or a call. The calls of each conversation have the same ids. */
const turn = fc.tuple(lead, calls, words).map(([before, ofCalls, say]) => {
  const called = ofCalls.flatMap((own, at): Turn => [...(own ? [own] : []), { call: `call_${at}` }])
  return [...before, ...(called.length > 0 ? called : [{ say }])] as Turn
})
const conversation = fc.array(turn, { minLength: 1, maxLength: 3 })

const secrets = () => ({ masterKeyId: randomBytes(6).toString('hex'), secret: randomBytes(32).toString('base64url') })
const [OWN, LATER] = [secrets(), secrets()]
const sealWith =
  (...all: (typeof OWN)[]) =>
  (account: string): StateSeal => {
    const keys = deriveStateKeys({ secrets: all })
    return new AccountSeal(() => keys, account)
  }
const sealOf = sealWith(OWN)

interface Options {
  client: Client
  kind: TargetKind
  stream: boolean
  states?: StateSeal
  /** Of Messages: the client wants to see the thoughts. */
  shows: boolean
}

/** The client's conversation with one target. */
class Session {
  #options: Options
  #history: Json[] = [{ role: 'user', content: 'Go on' }]

  constructor(options: Options) {
    this.#options = options
  }

  request(other: Partial<Options> & { backend?: string } = {}): Json {
    const { client, kind, stream, states, backend = 'a' } = { ...this.#options, ...other }
    return JSON.parse(this.#written(client, kind, stream, states, backend).body.toString()) as Json
  }

  #written(client: Client, kind: TargetKind, stream: boolean, states: StateSeal | undefined, backend: string) {
    const { dialect } = dialectRoute(client, [kind.dialect])
    const stateKind = kindOfState({ dialect: kind.dialect, vendor: kind.vendor, model: kind.model, backend })
    return dialect.request({
      kind: 'chat',
      body: Buffer.from(JSON.stringify(this.body())),
      model: kind.model,
      stream,
      maxTokens: undefined,
      form: [],
      profile: VENDOR_PROFILES[kind.vendor],
      ...(states && { states, stateKind }),
    })
  }

  body(): Json {
    const parameters = { type: 'object', properties: {} }
    switch (this.#options.client) {
      case 'chat':
        return { messages: this.#history, tools: [{ type: 'function', function: { name: 'look', parameters } }] }
      case 'responses':
        return { input: this.#history, tools: [{ type: 'function', name: 'look', parameters }] }
      case 'messages':
        return {
          max_tokens: 9_000,
          messages: this.#history,
          tools: [{ name: 'look', input_schema: parameters }],
          ...(this.#options.shows ? { thinking: { type: 'enabled', budget_tokens: 2_048 } } : {}),
        }
    }
  }

  /** The client replaces tokens by others. */
  alter(change: (text: string) => string): void {
    this.#history = JSON.parse(change(JSON.stringify(this.#history))) as Json[]
  }

  get tokens(): string[] {
    return JSON.stringify(this.#history).match(TOKEN) ?? []
  }

  /** The target's turn, and the results of its calls or the user's next words. */
  take(turn: Turn, pieces: number): void {
    const { client, kind, stream, states } = this.#options
    const { dialect } = dialectRoute(client, [kind.dialect])
    const { vendor, model } = kind
    const stateKind = kindOfState({ dialect: kind.dialect, vendor, model, backend: 'a' })
    const { reasoningState: stateForm, usage: usageRules } = VENDOR_PROFILES[vendor]
    const id = { chat: 'chatcmpl-r', responses: 'resp_r', messages: 'msg_r' }[client]
    const identity = { id, created: 1, model, usageRules, stateForm, ...(states && { states, stateKind }) }
    const { echo } = this.#written(client, kind, stream, states, 'a')
    if (!stream) {
      const { bytes } = dialect.readBackendResponse(
        'chat',
        Buffer.from(JSON.stringify(kind.plain(turn))),
        identity,
        echo,
      )
      this.#add(JSON.parse(bytes.toString()) as Json, turn)
      return
    }
    const reading = dialect.readStream({ includeUsage: true, choices: 1, identity, echo })
    const written = kind.events(turn, pieces).map((event) => {
      const name = kind.dialect === 'chat' ? '' : `event: ${event['type']}\n`
      return `${name}data: ${JSON.stringify(event)}\n\n`
    })
    const events = createSseParser().push(
      Buffer.from(written.join('') + (kind.dialect === 'chat' ? 'data: [DONE]\n\n' : '')),
    )
    const bytes = events.map((event) => reading.read(event) ?? Buffer.alloc(0))
    bytes.push(reading.usageChunk(reading.progress.usage!))
    this.#add(assembled(client, Buffer.concat(bytes)), turn)
  }

  #add(response: Json, turn: Turn): void {
    const { client } = this.#options
    if (client === 'chat') {
      // Most clients of chat send back no other member.
      const { content, tool_calls: all } = response['choices'][0].message as Json
      const own = (all as Json[] | undefined)?.map(({ id, type, function: called }) => ({ id, type, function: called }))
      this.#history.push({ role: 'assistant', content, ...(own ? { tool_calls: own } : {}) })
      for (const { id } of own ?? []) this.#history.push({ role: 'tool', tool_call_id: id, content: '72' })
    } else if (client === 'messages') {
      const content = response['content'] as Json[]
      this.#history.push({ role: 'assistant', content })
      const used = content.filter(({ type }) => type === 'tool_use')
      const results = used.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: '72' }))
      if (results.length > 0) this.#history.push({ role: 'user', content: results })
    } else {
      const output = response['output'] as Json[]
      this.#history.push(...output)
      for (const { call_id } of output.filter(({ type }) => type === 'function_call'))
        this.#history.push({ type: 'function_call_output', call_id, output: '72' })
    }
    if (callsOf(turn).length === 0) this.#history.push({ role: 'user', content: 'Go on' })
  }
}

const TOKEN = /svc2\.[0-9a-f]{12}\.[\w-]+/g

/** A streamed response as the client puts it together. */
function assembled(client: Client, bytes: Buffer): Json {
  const events = createSseParser()
    .push(bytes)
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as Json)
  if (client === 'responses') {
    const { output } = events.at(-1)!['response'] as { output: Json[] }
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    expect(done.toSorted((one, other) => one['output_index'] - other['output_index']).map(({ item }) => item)).toEqual(
      output,
    )
    return { output }
  }
  if (client === 'messages') {
    const content: Json[] = []
    for (const { type, index, content_block: block, delta } of events) {
      if (type === 'content_block_start')
        content[index] = { ...block, ...(block.type === 'tool_use' ? { json: '' } : {}) }
      if (type !== 'content_block_delta') continue
      const at = content[index]!
      if (delta.type === 'text_delta') at['text'] += delta.text
      if (delta.type === 'thinking_delta') at['thinking'] += delta.thinking
      if (delta.type === 'signature_delta') at['signature'] += delta.signature
      if (delta.type === 'input_json_delta') at['json'] += delta.partial_json
    }
    return { content: content.map(({ json, ...block }) => (json ? { ...block, input: JSON.parse(json) } : block)) }
  }
  const message: Json = { role: 'assistant', content: null }
  for (const { choices } of events)
    for (const { delta } of choices as Json[]) {
      if (typeof delta.content === 'string') message['content'] = (message['content'] ?? '') + delta.content
      for (const { index, id, function: called } of (delta.tool_calls ?? []) as Json[]) {
        const all = (message['tool_calls'] ??= []) as Json[]
        const call = (all[index] ??= { id, type: 'function', function: { name: called.name, arguments: '' } })
        if (id !== undefined) expect(call['id']).toBe(id)
        call['function'].arguments += called.arguments ?? ''
      }
    }
  return { choices: [{ message }] }
}

/** A client of chat keeps the state in front of calls, one of Messages that in front of any block. */
function kept({ client, kind }: Options, turn: Turn): Placed[] {
  const made = kind.made(turn)
  const count = callsOf(turn).length
  if (client === 'chat') return count === 0 ? [] : made.filter(([, , before]) => before < count)
  return client === 'messages' && kind === gemini && count === 0 ? [] : made
}

const NATIVE: Partial<Record<Client, TargetKind[]>> = { responses: [gpt], messages: [claude] }
const pairs = CLIENTS.flatMap((client) =>
  Object.entries(KINDS)
    .filter(([, kind]) => !NATIVE[client]?.includes(kind))
    .flatMap(([name, kind]) =>
      [true, false].map((stream) => ({ client, name, kind, stream, how: stream ? 'streamed' : 'plain' })),
    ),
)

function refusedField(request: () => unknown): string {
  try {
    request()
  } catch (fault) {
    if (!(fault instanceof BackendFault) || fault.status !== 400) throw fault
    return (JSON.parse(fault.body!) as { error: { param: string } }).error.param
  }
  throw new Error('the request was written')
}

const MEMBER = {
  chat: /^messages\[\d+\]\.tool_calls\[\d+\]\.id$/,
  responses: /^input\[\d+\]\.encrypted_content$/,
  messages: /^messages\[\d+\]\.content\[\d+\]\.(?:signature|data)$/,
}

describe.each(pairs)('a $client client of $name, $how', ({ client, kind, stream }) => {
  function begun(turns: Turn[], pieces: number, shows: boolean, states = sealOf('acc')): Session {
    const session = new Session({ client, kind, stream, states, shows })
    for (const one of turns) session.take(one, pieces)
    return session
  }
  const played = fc.tuple(conversation, fc.integer({ min: 1, max: 4 }), fc.boolean())

  test('sends each state back byte for byte and at its place, whichever router opens it', () => {
    const seals = [sealOf('acc'), sealWith(LATER, OWN)('acc')]
    fc.assert(
      fc.property(played, played, ([turns, pieces, shows], [others]) => {
        const [session, beside] = [begun(turns, pieces, shows), begun(others, pieces, shows)]
        for (const states of seals) {
          const options = { client, kind, stream, shows }
          expect(kind.received(session.request({ states }))).toEqual(turns.map((one) => kept(options, one)))
          expect(kind.received(beside.request({ states }))).toEqual(others.map((one) => kept(options, one)))
        }
        const request = JSON.stringify(session.request())
        expect(request).not.toMatch(TOKEN)
        // Each call and its result have the target's own id.
        for (const { call } of turns.flatMap(callsOf)) {
          const having = turns.filter((one) => callsOf(one).some((other) => other.call === call))
          expect(request.split(`"${call}"`)).toHaveLength(2 * having.length + 1)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('loses the state, and nothing else, at a target of another kind and without the secrets', () => {
    fc.assert(
      fc.property(played, fc.constantFrom(...Object.values(KINDS)), ([turns, pieces, shows], other) => {
        const session = begun(turns, pieces, shows)
        const isOfBackend = kind.dialect === 'responses'
        const requests = [
          session.request({ kind: { ...kind, model: `${kind.model}-2` } }),
          ...(other === kind ? [] : [session.request({ kind: other })]),
          ...(isOfBackend ? [session.request({ backend: 'b' })] : []),
          session.request({ states: withoutSecrets() }),
        ]
        for (const request of requests) {
          const text = JSON.stringify(request)
          expect(text).not.toMatch(TOKEN)
          expect(text).not.toContain('svc_state')
          for (const one of turns)
            for (const { say } of one.filter(isSaid))
              expect(text).toContain(JSON.stringify(say).slice(1, -1).split('\\n\\n')[0]!)
        }
        const secretsMade = turns
          .flat()
          .filter(isThought)
          .map(({ secret: value }) => value)
          .filter(({ length }) => length > 40)
        for (const value of secretsMade) expect(JSON.stringify(requests)).not.toContain(value)
      }),
      { numRuns: 40 },
    )
  })

  test('is refused with the name of the member where a state is forged or of another account', () => {
    let count = 0
    fc.assert(
      fc.property(played, fc.nat(), fc.nat(), ([turns, pieces, shows], which, where) => {
        const session = begun(turns, pieces, shows)
        const { tokens } = session
        if (tokens.length === 0) return
        count++
        expect(refusedField(() => session.request({ states: sealOf('another') }))).toMatch(MEMBER[client])
        const token = tokens[which % tokens.length]!
        const from = token.lastIndexOf('.') + 1
        const at = from + (where % (token.length - from - 1))
        const forged = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
        session.alter((text) => text.replaceAll(token, forged))
        for (const target of Object.values(KINDS))
          expect(refusedField(() => session.request({ kind: target }))).toMatch(MEMBER[client])
      }),
      { numRuns: 40 },
    )
    expect(count).toBeGreaterThan(5)
  })
})

/** The member in which a client keeps the state of a turn with a thought and a call. */
function memberOf(client: Client, kind: TargetKind): string {
  if (NATIVE[client]?.includes(kind)) return "the vendor's own"
  const members = new Set<string>()
  for (const isHidden of [false, true]) {
    const session = new Session({ client, kind, stream: false, states: sealOf('acc'), shows: true })
    session.take([{ thought: 'a thought', secret: 'a secret', isHidden }, { call: 'call_1' }], 1)
    for (const [, member] of JSON.stringify(session.body()).matchAll(/"(\w+)":"~?svc2\./g)) members.add(member!)
  }
  const own = client === 'chat' ? ['id of a call'] : [...members].map((member) => `\`${member}\``)
  expect(members.size).toBeGreaterThan(0)
  return own.join(', ')
}

const page = faultPageSection(
  'reasoning',
  ['Target', ...CLIENTS.map((client) => `\`${client}\` clients`)],
  'dialects.md',
)
afterAll(() => page.close())

test.each<[string, TargetKind]>([
  ["Claude's `messages`: `thinking`, `redacted_thinking`", claude],
  ["OpenAI's `responses`: `encrypted_content`", gpt],
  ["Gemini's chat: `thought_signature`", gemini],
  ["OpenRouter's chat: `reasoning_details`", openrouter],
])('the page says where clients keep the state of %s', (name, kind) => {
  page.row(name, ...CLIENTS.map((client) => memberOf(client, kind)))
})

function withoutSecrets(): StateSeal {
  const seal = new AccountSeal(() => null, 'acc')
  seal.isFinal = true
  return seal
}
