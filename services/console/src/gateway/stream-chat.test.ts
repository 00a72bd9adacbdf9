import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { streamChat } from './stream-chat.ts'

afterEach(() => vi.unstubAllGlobals())

const caller = { gatewayUrl: 'http://gateway.example', token: 'token', onEnded() {} }

/** The text that the console shows when the gateway's answer comes in these pieces. */
async function shownOf(pieces: Uint8Array[]): Promise<string[]> {
  const body = new ReadableStream({
    start(stream) {
      for (const piece of pieces) stream.enqueue(piece)
      stream.close()
    },
  })
  vi.stubGlobal('fetch', async () => new Response(body))
  const shown: string[] = []
  const listener = { onHead() {}, onThought() {}, onText: (text: string) => void shown.push(text) }
  await streamChat(caller, { model: 'svc-fast', messages: [] }, new AbortController().signal, listener)
  return shown
}

const chunk = (content: string) => JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })

test('texts come whole however the stream was cut, characters included', async () => {
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
        const whole = new TextEncoder().encode(events.join(''))
        const pieces: Uint8Array[] = []
        for (let at = 0, cut = 0; at < whole.length; cut++) {
          const size = (cuts[cut % cuts.length] ?? 0) + 1
          pieces.push(whole.subarray(at, at + size))
          at += size
        }
        expect(await shownOf(pieces)).toEqual(texts)
      },
    ),
  )
})

test('an answer that ends inside an event, or before its end, is told as broken off', async () => {
  const bytes = (text: string) => [new TextEncoder().encode(text)]
  await expect(shownOf(bytes(`data: ${chunk('a')}\n\n`))).rejects.toThrow('before the answer was complete')
  await expect(shownOf(bytes(`data: ${chunk('a')}\n\ndata: [DONE]`))).rejects.toThrow('before the answer was complete')
})
