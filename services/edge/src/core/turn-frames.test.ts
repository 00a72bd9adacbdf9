import { expect, test } from 'vitest'
import { errorFrame, frameOf } from './turn-frames.ts'

test("an event's data is the message, with the name of its stream in front", () => {
  const event = { name: 'response.output_text.delta', data: '{"type":"response.output_text.delta","delta":"a"}' }
  expect(frameOf(event, undefined)).toEqual({ text: event.data, ending: null })
  expect(frameOf(event, 'main')!.text).toBe('{"stream_id":"main","type":"response.output_text.delta","delta":"a"}')
})

test.each([
  ['response.completed', 'completed'],
  ['response.incomplete', 'completed'],
  ['response.failed', 'failed'],
  ['error', 'failed'],
])('%s ends the request: %s', (name, ending) => {
  expect(frameOf({ name, data: `{"type":"${name}"}` }, undefined)!.ending).toBe(ending)
})

test('the mark at the end of a stream is no message', () => {
  expect(frameOf({ name: null, data: '[DONE]' }, 'main')).toBeNull()
})

test('an error within a stream gets the envelope of an error, with its status', () => {
  const flat = { type: 'error', sequence_number: 4, code: 'UPSTREAMS_EXHAUSTED', message: 'No', param: null }
  expect(JSON.parse(frameOf({ name: 'error', data: JSON.stringify(flat) }, 'a')!.text)).toEqual({
    stream_id: 'a',
    type: 'error',
    sequence_number: 4,
    status: 503,
    error: { type: 'server_error', code: 'UPSTREAMS_EXHAUSTED', message: 'No', param: null },
  })
  const nested = { type: 'error', error: { type: 'rate_limit', code: 'slow_down', message: 'No' } }
  expect(JSON.parse(frameOf({ name: 'error', data: JSON.stringify(nested) }, undefined)!.text)).toEqual({
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
