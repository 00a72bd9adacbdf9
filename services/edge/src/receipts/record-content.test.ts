import { createHash } from 'node:crypto'
import type { ReceiptClaims } from '@gateway/contracts/receipts'
import { completeEvents } from '@gateway/sse/complete-events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSignOfLife } from '@gateway/sse/signs-of-life'
import { splitEvents } from '@gateway/sse/split-events'
import { dataOf } from '../core/receipt-events.ts'
import { recordContent } from './record-content.ts'

type Content = ReceiptClaims['content']

const digestOf = (bytes: Buffer): Content => ({
  bytes: bytes.byteLength,
  sha256: createHash('sha256').update(bytes).digest('hex'),
})

async function recorded(dialect: 'chat' | 'messages' | 'responses' | null, pieces: Buffer[], rest = Buffer.alloc(0)) {
  const passed: Buffer[] = []
  const record = recordContent(dialect, { write: (bytes) => void passed.push(Buffer.from(bytes)) })
  for (const piece of pieces) record.write(piece)
  const early = Buffer.concat(passed).toString()
  let signed: Content | undefined
  const end = await record.conclude(rest, async (content) => {
    signed = content
    return 'a.b.c'
  })
  return { early, all: Buffer.concat([...passed, end.rest]), headers: end.headers, signed: signed! }
}

const event = (data: object, name?: string) => `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
const chunk = (content: string) => event({ id: 'c', created: 1, model: 'm', choices: [{ delta: { content } }] })
const usage = (tokens: number) => event({ id: 'c', choices: [], usage: { total_tokens: tokens } })

test('a JSON response passes unchanged, and its receipt is a header over all of its bytes', async () => {
  const body = Buffer.from('{"choices":[],"usage":{"total_tokens":2}}')
  const { all, headers, signed } = await recorded(null, [body.subarray(0, 9), body.subarray(9)])
  expect(all).toEqual(body)
  expect(headers).toEqual({ 'x-svc-receipt': 'a.b.c' })
  expect(signed).toEqual(digestOf(body))
})

test("a chat's receipt is a member of the chunk with the usage, over all chunks before it", async () => {
  const { early, all, signed } = await recorded('chat', [Buffer.from(chunk('a')), Buffer.from(chunk('b') + usage(2))])
  expect(early).toBe(chunk('a') + chunk('b'))
  expect(all.toString()).toBe(early + usage(2).replace('}}\n', '},"svc_receipt":"a.b.c"}\n'))
  expect(signed).toEqual(digestOf(Buffer.from(early)))
})

test('a chat without usage gets one more chunk', async () => {
  const { all, signed } = await recorded('chat', [Buffer.from(chunk('a'))])
  const added = event({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [],
    svc_receipt: 'a.b.c',
  })
  expect(all.toString()).toBe(chunk('a') + added)
  expect(signed).toEqual(digestOf(Buffer.from(chunk('a'))))
})

test("a message's receipt is a member of its last delta, before the terminal event", async () => {
  const start = event({ type: 'message_start', message: { usage: { input_tokens: 1 } } }, 'message_start')
  const delta = event({ type: 'message_delta', delta: {}, usage: { output_tokens: 2 } }, 'message_delta')
  const stop = event({ type: 'message_stop' }, 'message_stop')
  const { all, signed } = await recorded('messages', [Buffer.from(start + delta)], Buffer.from(stop))
  expect(splitEvents(all).map((one) => dataOf(one)?.['svc_receipt'])).toEqual([undefined, 'a.b.c', undefined])
  expect(signed).toEqual(digestOf(Buffer.from(start)))
})

test('an event that bears no usage at the end of a response carries the receipt where no other does', async () => {
  const stop = event({ type: 'message_stop' }, 'message_stop')
  const { all } = await recorded('messages', [Buffer.from(event({ type: 'message_start' }))], Buffer.from(stop))
  expect(splitEvents(all).map((one) => dataOf(one)?.['svc_receipt'])).toEqual([undefined, 'a.b.c'])
})

test('where the client gets an event as another text, the receipt is over that text', async () => {
  const [created, delta] = [
    event({ type: 'response.created' }),
    event({ type: 'response.output_text.delta', delta: 'a' }),
  ]
  const completed = event({ type: 'response.completed', response: { usage: { total_tokens: 2 } } })
  let signed: Content | undefined
  const record = recordContent('responses', { write() {} }, (one) => Buffer.from(`${JSON.stringify(dataOf(one))}\n`))
  record.write(Buffer.from(created + delta))
  await record.conclude(Buffer.from(completed), async (content) => {
    signed = content
    return 'a.b.c'
  })
  const shown = '{"type":"response.created"}\n{"type":"response.output_text.delta","delta":"a"}\n'
  expect(signed).toEqual(digestOf(Buffer.from(shown)))
})

const anyEvent = fc.oneof(
  { weight: 4, arbitrary: fc.string().map(chunk) },
  { weight: 2, arbitrary: fc.nat().map(usage) },
  { weight: 1, arbitrary: fc.constant(': keep-alive\n\n') },
  { weight: 1, arbitrary: fc.constant(event({ type: 'ping' }, 'ping')) },
)

test('all events pass in order, however the network cuts them, and the receipt covers the content before it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyEvent, { maxLength: 12 }),
      fc.array(fc.nat(40), { maxLength: 20 }),
      fc.nat(3),
      async (events, cuts, behind) => {
        const last = events.length - Math.min(behind, events.length)
        const bytes = Buffer.from(events.slice(0, last).join(''))
        const splitter = completeEvents()
        const pieces: Buffer[] = []
        let at = 0
        for (const cut of [...cuts, bytes.length]) {
          pieces.push(Buffer.from(splitter.push(bytes.subarray(at, at + cut))))
          at += cut
        }
        const rest = Buffer.from(events.slice(last).join(''))
        const { all, signed } = await recorded('chat', pieces, rest)

        const written = splitEvents(all)
        const carrierAt = written.findIndex((one) => dataOf(one)?.['svc_receipt'] !== undefined)
        // Where content follows the last counts, they have passed already, and one more chunk comes.
        const isAdded = written.length > events.length
        const given = isAdded ? written.toSpliced(carrierAt, 1) : written
        expect(given.map((one) => one.toString().replace(',"svc_receipt":"a.b.c"', ''))).toEqual(events)
        if (!isAdded) expect(carrierAt).toBe(events.findLastIndex((one) => one.includes('total_tokens')))
        const content = written.slice(0, carrierAt)
        expect(signed).toEqual(digestOf(Buffer.concat(content.filter((one) => !isSignOfLife(one)))))
      },
    ),
    { numRuns: 300 },
  )
})
