/**
 * A number that the edge only passes on reaches the backend in the text in which it came. One that the edge itself reads is a
 * number, however its client wrote it.
 */

import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chat, embeddings, images, type InferenceKind } from './inference-kinds.ts'
import { messages } from './messages.ts'
import { readJsonBody } from '../http/read-json-body.ts'
import { responses } from './responses.ts'

const MODELS = [{ id: 'm', type: 'chat', maxOutputTokens: 100 }] as never

/** The body as the edge reads it from the network. */
async function parsed(text: string): Promise<unknown> {
  const bytes = Buffer.from(text)
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) }
  const request = Object.assign(Readable.from([bytes]), {
    headers,
    httpVersion: '1.1',
    complete: true,
    body: undefined,
  })
  const fault = await new Promise((resolve) => {
    void readJsonBody(request as never, { locals: {} } as never, resolve)
  })
  if (fault !== undefined) throw fault
  return request.body
}

const sent = async (kind: InferenceKind, text: string) => Buffer.from(kind(await parsed(text), MODELS).body).toString()

const NUMBERS = [
  ...['12345678901234567.89', '1234567890123456789012345678901234567890', '1e400', '-1E-400', '9007199254740993'],
  ...['1.0', '-0', '-0.0', '0.10', '1e5', '1E+2', '0.0000001', '0.1', '7', '-3', '1e-7'],
]
const digits = fc.stringMatching(/^[0-9]{1,30}$/)
const number = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc
    .tuple(digits, digits, fc.constantFrom('', 'e5', 'E-3'))
    .map(([complete, fraction, e]) => `1${complete}.${fraction}${e}`),
)
/** Prose with digits and quotes stands between the numbers. */
const value = fc.tuple(fc.array(number, { minLength: 1, maxLength: 4 }), fc.string()).map(([numbers, text]) => {
  return `[${numbers.map((each) => `${JSON.stringify(text)},{"n":${each}}`).join(',')}]`
})

const BODIES: [string, InferenceKind, (value: string) => string][] = [
  [
    'chat',
    chat,
    (x) =>
      `{"model":"m","messages":[{"role":"user","content":"5.00 \\"1e9"}],"tools":[{"type":"function","function":{"name":"f","parameters":${x}}}],"some_new_field":${x},"seed":${x}}`,
  ],
  [
    'responses',
    responses,
    (x) =>
      `{"model":"m","input":"5.00","tools":[{"type":"function","name":"f","parameters":${x}}],"text":{"format":{"type":"json_schema","name":"n","schema":{"x":${x}}}},"some_new_field":${x}}`,
  ],
  [
    'messages',
    messages,
    (x) =>
      `{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"x":${x}}}]}],"tools":[{"name":"f","input_schema":{"x":${x}}}],"metadata":{"x":${x}}}`,
  ],
  ['embeddings', embeddings, (x) => `{"model":"m","input":"x","metadata":${x}}`],
  ['images', images, (x) => `{"model":"m","prompt":"x","metadata":${x}}`],
]

describe.each(BODIES)('a body for %s', (_, kind, write) => {
  test('keeps the text of every number that the edge only passes on', async () => {
    await fc.assert(
      fc.asyncProperty(value, async (x) => {
        expect((await sent(kind, write(x))).split(x)).toHaveLength(write(x).split(x).length)
      }),
    )
  })
})

test('a number that the edge reads may be written in any form', async () => {
  const text =
    '{"model":"m","max_tokens":1e2,"temperature":0.69999999999999996,"top_p":1.0,"n":1.0,"messages":[{"role":"user","content":"x"}],"n_predict":5.0}'
  const inference = chat(await parsed(text), MODELS)
  expect(inference.outputCap).toBe(100)
  expect(JSON.parse(Buffer.from(inference.body).toString())).toMatchObject({
    max_tokens: 100,
    temperature: 0.7,
    top_p: 1,
  })
  expect(inference.estimate({ maxOutputTokens: 100 } as never).maxOutputTokens).toBe(100)
  const tokens = embeddings(await parsed('{"model":"m","input":[[1.0,2e0],[3]]}'), MODELS)
  expect(Buffer.from(tokens.body).toString()).toContain('[[1,2],[3]]')
})

test.each([
  ['{"model":"m","max_tokens":1e400,"messages":[{"role":"user","content":"x"}]}', 'max_tokens'],
  ['{"model":"m","max_tokens":1.5,"messages":[{"role":"user","content":"x"}]}', 'max_tokens'],
  ['{"model":"m","max_tokens":12345678901234567.89,"messages":[{"role":"user","content":"x"}]}', 'max_tokens'],
  ['{"model":"m","messages":[{"role":"user","content":1.0}]}', 'messages[0].content'],
  ['{"model":"m","messages":[1.0]}', 'messages[0]'],
])('%s is refused by the name of the field', async (text, field) => {
  await expect(sent(chat, text)).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    message: expect.stringContaining(`${field}: `) as string,
  })
})
