import type { ClientDialect } from '@gateway/contracts/vendors'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { streamResponse, type ResponseTotals } from './stream-response.ts'

afterEach(() => vi.unstubAllGlobals())

const caller = { gatewayUrl: 'http://gateway.example', token: 'token', onTokenAccepted() {}, onTokenRefused() {} }

/** The text that the console shows when the gateway's response arrives in these pieces. */
async function shownOf(pieces: Uint8Array[], dialect: ClientDialect = 'chat'): Promise<string[]> {
  return (await responseOf(pieces, dialect)).shown
}

async function responseOf(
  pieces: Uint8Array[],
  dialect: ClientDialect,
): Promise<{ shown: string[]; totals: ResponseTotals }> {
  const body = new ReadableStream({
    start(stream) {
      for (const piece of pieces) stream.enqueue(piece)
      stream.close()
    },
  })
  vi.stubGlobal('fetch', async () => new Response(body))
  const shown: string[] = []
  const listener = { onHead() {}, onThought() {}, onText: (text: string) => void shown.push(text) }
  const request = { model: 'svc-fast', messages: [] }
  const totals = await streamResponse(caller, dialect, request, new AbortController().signal, listener)
  return { shown, totals }
}

const chunk = (content: string) => JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })

test('texts arrive complete wherever the stream is cut, also inside a character', async () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1 })
  const cuts = fc.array(fc.nat(20), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n'),
      cuts,
      async (texts, end, cuts) => {
        const events = [...texts.map(chunk), '[DONE]'].map(
          (data) => `: keep-alive${end}${end}data: ${data}${end}${end}`,
        )
        const complete = new TextEncoder().encode(events.join(''))
        const pieces: Uint8Array[] = []
        for (let at = 0, cut = 0; at < complete.length; cut++) {
          const size = (cuts[cut % cuts.length] ?? 0) + 1
          pieces.push(complete.subarray(at, at + size))
          at += size
        }
        expect(await shownOf(pieces)).toEqual(texts)
      },
    ),
  )
})

test('a response that ends inside an event, or before its last one, is shown as interrupted', async () => {
  const bytes = (text: string) => [new TextEncoder().encode(text)]
  await expect(shownOf(bytes(`data: ${chunk('a')}\n\n`))).rejects.toThrow('before the response was complete')
  await expect(shownOf(bytes(`data: ${chunk('a')}\n\ndata: [DONE]`))).rejects.toThrow(
    'before the response was complete',
  )
})

const RESPONSES = [
  { type: 'response.created', response: { id: 'resp_1' } },
  { type: 'response.reasoning_summary_text.delta', delta: 'hm' },
  { type: 'response.output_text.delta', delta: 'Hel' },
  { type: 'response.output_text.delta', delta: 'lo' },
  {
    type: 'response.completed',
    response: {
      model: 'gpu',
      usage: { input_tokens: 9, output_tokens: 3, input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 } },
    },
  },
]
const PROMPT = { input_tokens: 3, cache_read_input_tokens: 4, cache_creation_input_tokens: 2 }
const NO_PROMPT = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
const messagesWith = (started: object, ended: object) => [
  { type: 'message_start', message: { model: 'gpu', usage: started } },
  { type: 'ping' },
  { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'hm' } },
  { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hel' } },
  { type: 'content_block_delta', delta: { type: 'text_delta', text: 'lo' } },
  { type: 'message_delta', delta: { stop_reason: 'stop' }, usage: { ...ended, output_tokens: 3 } },
  { type: 'message_stop' },
]
const bytesOf = (events: { type: string }[]) =>
  events.map((event) => new TextEncoder().encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))

test.each([
  ['responses', RESPONSES],
  ['messages', messagesWith(PROMPT, {})],
  ['messages', messagesWith(PROMPT, NO_PROMPT)],
  ['messages', messagesWith(NO_PROMPT, PROMPT)],
  // From a chat backend the gateway sends an estimate first, and then the count.
  ['messages', messagesWith({ ...NO_PROMPT, input_tokens: 12 }, PROMPT)],
] as const)('a stream of %s is shown as a chat is, with the same totals (%#)', async (dialect, events) => {
  const { shown, totals } = await responseOf(bytesOf([...events]), dialect)
  expect(shown).toEqual(['Hel', 'lo'])
  const tokens = { promptTokens: 9, completionTokens: 3, cachedTokens: 4, cacheWriteTokens: 2 }
  expect(totals).toEqual({ model: 'gpu', finishReason: 'stop', tokens })
})

test.each([
  ['responses', { type: 'response.failed', response: { error: { code: 'X', message: 'gone' } } }],
  ['responses', { type: 'error', code: 'X', message: 'gone' }],
  ['messages', { type: 'error', error: { type: 'api_error', code: 'X', message: 'gone' } }],
  ['chat', { type: '', error: { code: 'X', message: 'gone' } }],
] as const)('a failure in a stream of %s is shown as a failure', async (dialect, failure) => {
  await expect(shownOf(bytesOf([failure]), dialect)).rejects.toThrow('The response was interrupted')
})
