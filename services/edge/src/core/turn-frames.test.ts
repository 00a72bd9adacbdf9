import { expect, test } from 'vitest'
import { errorFrame, frameOf } from './turn-frames.ts'

test("an event's data is the message, with the name of its stream in front", () => {
  const event = { name: 'response.output_text.delta', data: '{"type":"response.output_text.delta","delta":"a"}' }
  expect(frameOf(event, {})).toEqual({ text: event.data, ending: null })
  expect(frameOf(event, { streamId: 'main' })!.text).toBe(
    '{"stream_id":"main","type":"response.output_text.delta","delta":"a"}',
  )
})

test.each([
  ['response.completed', 'completed'],
  ['response.incomplete', 'completed'],
  ['response.failed', 'failed'],
  ['error', 'failed'],
])('%s ends the request: %s', (name, ending) => {
  expect(frameOf({ name, data: `{"type":"${name}"}` }, {})!.ending).toBe(ending)
})

test('a response names the one that it continues, in its own member alone', () => {
  const tools = [{ parameters: { default: { previous_response_id: null } } }]
  const response = { tools, previous_response_id: null, output: [{ text: '"previous_response_id":null' }], n: 1 }
  const frame = (name: string, previousId: string | null) =>
    JSON.parse(frameOf({ name, data: JSON.stringify({ type: name, response }) }, { previousId })!.text) as object
  expect(frame('response.completed', 'resp_"1')).toEqual({
    type: 'response.completed',
    response: { ...response, previous_response_id: 'resp_"1' },
  })
  expect(frame('response.completed', null)).toMatchObject({ response })
  expect(frame('response.output_item.done', 'resp_1')).toMatchObject({ response })
  expect(frameOf({ name: 'response.created', data: '{"response":{}}' }, { previousId: 'a' })!.text).toBe(
    '{"response":{}}',
  )
})

test('the mark at the end of a stream is no message', () => {
  expect(frameOf({ name: null, data: '[DONE]' }, { streamId: 'main' })).toBeNull()
})

test('an error within a stream gets the envelope of an error, with its status', () => {
  const flat = { type: 'error', sequence_number: 4, code: 'UPSTREAMS_EXHAUSTED', message: 'No', param: null }
  expect(JSON.parse(frameOf({ name: 'error', data: JSON.stringify(flat) }, { streamId: 'a' })!.text)).toEqual({
    stream_id: 'a',
    type: 'error',
    sequence_number: 4,
    status: 503,
    error: { type: 'server_error', code: 'UPSTREAMS_EXHAUSTED', message: 'No', param: null },
  })
  const nested = { type: 'error', error: { type: 'rate_limit', code: 'slow_down', message: 'No' } }
  expect(JSON.parse(frameOf({ name: 'error', data: JSON.stringify(nested) }, {})!.text)).toEqual({
    ...nested,
    status: 500,
  })
})

test('an error of HTTP keeps its body and the headers that say when to come back', () => {
  const body = JSON.stringify({ error: { code: 'rate_limit_exceeded', message: 'Slowly', retry_after_ms: 20 } })
  expect(JSON.parse(errorFrame(429, body, { 'retry-after-ms': '20' }, 'a'))).toEqual({
    stream_id: 'a',
    type: 'error',
    status: 429,
    error: { code: 'rate_limit_exceeded', message: 'Slowly', retry_after_ms: 20 },
    headers: { 'retry-after-ms': '20' },
  })
})
