/**
 * A backend of the Messages API may bring a block whole as it starts, or in pieces behind the start. It may also divide
 * the block between both. Clients of every dialect read the same response.
 */

import fc from 'fast-check'
import { parseExactly } from '@gateway/contracts/json'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { describe, expect, test } from 'vitest'
import { createSseParser } from '@gateway/sse/parse-events'
import { OUTPUT_TOOL } from './chat-to-messages/tools.ts'
import { dialectRoute } from './dialects.ts'

type Json = Record<string, unknown>
type Block = { type: 'text' | 'thinking'; text: string } | { type: 'tool_use'; name: string; input: Json }

interface Cut {
  /** Of the text that the start brings: none, some, or all of it. */
  atStart: number
  /** The length of each piece behind it. */
  pieceLength: number
  /** Some servers end no block. */
  isStopped: boolean
}

const IDENTITY = { id: 'own', created: 1, model: 'm' }
const USAGE = { promptTokens: 1, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0, estimated: false }

function requestBy(client: ClientDialect): Json {
  const messages = [{ role: 'user', content: 'x' }]
  if (client === 'messages') return { max_tokens: 9, messages }
  return client === 'chat' ? { messages } : { input: 'x' }
}

type RequestedFormat = 'nothing' | 'json_object' | 'json_schema'

function opened(client: ClientDialect, requested: RequestedFormat) {
  const { dialect } = dialectRoute(client, ['messages'])
  const body = Buffer.from(JSON.stringify({ ...requestBy(client), ...formatOf(client, requested) }))
  const clientRequest = { kind: 'chat' as const, body, model: 'm', stream: true, maxTokens: undefined, form: [] }
  return { dialect, echo: dialect.request(clientRequest).echo }
}

function formatOf(client: ClientDialect, requested: RequestedFormat): Json {
  if (requested === 'nothing' || client === 'messages') return {}
  const schema = { name: 'n', schema: { type: 'object' } }
  if (client === 'responses')
    return { text: { format: { type: requested, ...(requested === 'json_schema' ? schema : {}) } } }
  return { response_format: { type: requested, ...(requested === 'json_schema' ? { json_schema: schema } : {}) } }
}

const written = (block: Block, index: number): Json => {
  if (block.type === 'tool_use') return { ...block, id: `toolu_${index}` }
  return block.type === 'text' ? block : { type: 'thinking', thinking: block.text, signature: 's' }
}

const stopOf = (blocks: Block[]) => (blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn')

function pieces(text: string, length: number): string[] {
  const found = []
  for (let at = 0; at < text.length; at += length) found.push(text.slice(at, at + length))
  return found
}

function eventsOf(blocks: Block[], cuts: Cut[]): Json[] {
  const events = blocks.flatMap((block, index): Json[] => {
    const { atStart, pieceLength, isStopped } = cuts[index % cuts.length]!
    const delta = (given: Json) => ({ type: 'content_block_delta', index, delta: given })
    const stop = isStopped ? [{ type: 'content_block_stop', index }] : []
    if (block.type === 'tool_use') {
      const isComplete = atStart > 0
      const text = isComplete ? '' : JSON.stringify(block.input)
      const start = { ...written(block, index), input: isComplete ? block.input : {} }
      const deltas = pieces(text, pieceLength).map((partial_json) => delta({ type: 'input_json_delta', partial_json }))
      return [{ type: 'content_block_start', index, content_block: start }, ...deltas, ...stop]
    }
    const field = block.type
    const full = block.text
    const at = Math.round(full.length * atStart)
    const start = { type: field, [field]: full.slice(0, at), ...(field === 'thinking' ? { signature: '' } : {}) }
    const deltas = pieces(full.slice(at), pieceLength).map((piece) => delta({ type: `${field}_delta`, [field]: piece }))
    return [{ type: 'content_block_start', index, content_block: start }, ...deltas, ...stop]
  })
  const message = { type: 'message', role: 'assistant', id: 'msg_1', model: 'm', content: [], stop_reason: null }
  return [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } },
    ...events,
    { type: 'message_delta', delta: { stop_reason: stopOf(blocks), stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ]
}

function streamed(client: ClientDialect, events: Json[], requested: RequestedFormat = 'nothing'): Json[] {
  const { dialect, echo } = opened(client, requested)
  const reading = dialect.readStream({ includeUsage: true, choices: 1, identity: IDENTITY, echo })
  const bytes = events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  const read = createSseParser()
    .push(Buffer.from(bytes))
    .map((event) => reading.read(event))
  const sent = Buffer.concat([...read, reading.usageChunk(USAGE)].flatMap((each) => each ?? []))
  return createSseParser()
    .push(sent)
    .map(({ data }) => parseExactly(data) as Json)
}

interface Seen {
  text: string
  thoughts: string
  calls: [name: string, args: unknown][]
  end: unknown
}

function plain(client: ClientDialect, blocks: Block[], requested: RequestedFormat): Seen {
  const { dialect, echo } = opened(client, requested)
  const reply = { type: 'message', role: 'assistant', id: 'msg_1', model: 'm', content: blocks.map(written) }
  const full = {
    ...reply,
    stop_reason: stopOf(blocks),
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 2 },
  }
  return readPlain(client, dialect.readBackendResponse('chat', Buffer.from(JSON.stringify(full)), IDENTITY, echo).json)
}

function readPlain(client: ClientDialect, reply: Json): Seen {
  if (client === 'responses') return readResponse(reply)
  if (client === 'messages') return readBlocks(reply.content as Json[], reply.stop_reason)
  const [choice] = reply.choices as { message: Json; finish_reason: string }[]
  const { content, reasoning_content: thoughts, tool_calls: calls } = choice!.message
  return {
    text: (content as string | null) ?? '',
    thoughts: (thoughts as string | undefined) ?? '',
    calls: callsOf((calls as { function: Json }[] | undefined) ?? []),
    end: choice!.finish_reason,
  }
}

const callsOf = (calls: { function: Json }[]): Seen['calls'] =>
  calls.map(({ function: called }) => [String(called.name), parseExactly(String(called.arguments))])

function readResponse(response: Json): Seen {
  const items = response.output as Json[]
  const textsOf = (type: string) =>
    items.flatMap((item) => (item.type === type ? (item.content as { text: string }[]) : [])).map(({ text }) => text)
  const calls = items.filter(({ type }) => type === 'function_call')
  return {
    text: textsOf('message').join(''),
    thoughts: textsOf('reasoning').join(''),
    calls: calls.map((call) => [String(call.name), parseExactly(String(call.arguments))]),
    end: response.status,
  }
}

function readBlocks(blocks: Json[], end: unknown): Seen {
  const join = (type: string) => blocks.flatMap((block) => (block.type === type ? [String(block[type])] : [])).join('')
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  return {
    text: join('text'),
    thoughts: join('thinking'),
    calls: calls.map(({ name, input }) => [String(name), input]),
    end,
  }
}

/** The parts that the SDK of each dialect collects of a stream. */
function collected(client: ClientDialect, events: Json[]): Seen {
  if (client === 'responses') return readResponse(events.at(-1)!.response as Json)
  return client === 'chat' ? collectChunks(events) : collectBlocks(events)
}

function collectChunks(events: Json[]): Seen {
  const calls: { function: { name: string; arguments: string } }[] = []
  const seen: Seen = { text: '', thoughts: '', calls: [], end: null }
  for (const event of events) {
    const [choice] = event.choices as { delta: Json; finish_reason: string | null }[]
    if (!choice) continue
    seen.text += (choice.delta.content as string | undefined) ?? ''
    seen.thoughts += (choice.delta.reasoning_content as string | undefined) ?? ''
    seen.end ??= choice.finish_reason
    for (const { index, function: called } of (choice.delta.tool_calls ?? []) as { index: number; function: Json }[]) {
      calls[index] ??= { function: { name: String(called.name), arguments: '' } }
      calls[index].function.arguments += typeof called.arguments === 'string' ? called.arguments : ''
    }
  }
  return { ...seen, calls: callsOf(calls) }
}

interface MessageEvent {
  type: string
  index: number
  content_block: Json
  delta?: { text?: string; thinking?: string; partial_json?: string; stop_reason?: string }
}

function collectBlocks(events: Json[]): Seen {
  const blocks: (Json & { json?: string })[] = []
  let end: unknown = null
  for (const { type, index, content_block: start, delta } of events as unknown as MessageEvent[]) {
    const { text, thinking, partial_json: json, stop_reason: reason } = delta ?? {}
    const block = blocks[index]
    if (type === 'content_block_start') blocks[index] = { ...start }
    if (text !== undefined) block!.text = String(block!.text) + text
    if (thinking !== undefined) block!.thinking = String(block!.thinking) + thinking
    if (json !== undefined) block!.json = (block!.json ?? '') + json
    if (reason != null) end = reason
  }
  const full = blocks.map(({ json, ...block }) => (json ? { ...block, input: parseExactly(json) } : block))
  return readBlocks(full, end)
}

/** The parts that a client collects when it reads no content of a start, as Vercel's AI SDK does. */
function collectedByPieces(events: Json[]): Seen {
  return collectBlocks(
    events.map((event) => {
      const block = event.content_block as Json | undefined
      if (!block) return event
      const bare = block.type === 'tool_use' ? { input: {} } : { [String(block.type)]: '' }
      return { ...event, content_block: { ...block, ...bare } }
    }),
  )
}

const CALL: Block = { type: 'tool_use', name: 'look', input: { path: '/etc', lines: [1, 2] } }

describe.each<ClientDialect>(['chat', 'responses', 'messages'])('for a client of %s', (client) => {
  test('a call whose arguments come with its start has them', () => {
    const full = { atStart: 1, pieceLength: 9, isStopped: true }
    const seen = collected(client, streamed(client, eventsOf([CALL], [full])))
    expect(seen.calls).toEqual([['look', { path: '/etc', lines: [1, 2] }]])
  })

  test('thoughts that come with their start are thoughts', () => {
    const full = { atStart: 1, pieceLength: 9, isStopped: true }
    const blocks: Block[] = [
      { type: 'thinking', text: 'Hm' },
      { type: 'text', text: 'Yes' },
    ]
    expect(collected(client, streamed(client, eventsOf(blocks, [full])))).toMatchObject({
      text: 'Yes',
      thoughts: 'Hm',
    })
  })

  test('pieces behind a start that was whole replace its arguments, as the SDK has it', () => {
    const events = eventsOf([CALL], [{ atStart: 0, pieceLength: 5, isStopped: true }])
    ;(events[1]!.content_block as Json).input = { path: '/e' }
    expect(collected(client, streamed(client, events)).calls).toEqual([['look', { path: '/etc', lines: [1, 2] }]])
  })

  test('any split of a message is the message', () => {
    const text = fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom('a', ' ', '{', '}', '"', '\\', '`') })
    const formats = fc.constantFrom<RequestedFormat>('nothing', 'json_object', 'json_schema')
    const block: fc.Arbitrary<Block> = fc.oneof(
      fc.record({ type: fc.constantFrom('text' as const, 'thinking' as const), text }),
      fc.record({
        type: fc.constant('tool_use' as const),
        name: fc.constantFrom('look', 'list'),
        input: fc.dictionary(text, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
      }),
    )
    const cut = fc.record({
      atStart: fc.constantFrom(0, 0.5, 1),
      pieceLength: fc.integer({ min: 1, max: 5 }),
      isStopped: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.array(block, { minLength: 1, maxLength: 5 }),
        fc.array(cut, { minLength: 1 }),
        formats,
        (given, cuts, requested) => {
          const blocks = requested === 'json_schema' && client !== 'messages' ? given.map(asOutputCall) : given
          const events = streamed(client, eventsOf(blocks, cuts), requested)
          const full = plain(client, blocks, requested)
          expect(collected(client, events)).toEqual(full)
          if (client === 'messages') expect(collectedByPieces(events)).toEqual(full)
        },
      ),
      { numRuns: 300 },
    )
  })
})

/** Where the model must call our tool to respond, it calls no other. */
function asOutputCall(block: Block): Block {
  return block.type === 'tool_use' ? { ...block, name: OUTPUT_TOOL } : block
}
