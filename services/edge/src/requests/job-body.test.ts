import { expect, test } from 'vitest'
import { jobBody } from './inference-kinds.ts'

test('the router writes the model and the stream flags; everything else passes through', () => {
  const body = jobBody({
    model: 'svc-core',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'model' }],
    chat_template_kwargs: { enable_thinking: false },
    a_field_of_tomorrow: { model: 'kept' },
  })
  expect(JSON.parse(body.bytes.toString())).toEqual({
    messages: [{ role: 'user', content: 'model' }],
    chat_template_kwargs: { enable_thinking: false },
    a_field_of_tomorrow: { model: 'kept' },
  })
})

test('a null is left out, since some servers refuse it; one inside a message stays', () => {
  const messages = [{ role: 'assistant', content: null }]
  const body = jobBody({ messages, max_tokens: null, max_completion_tokens: null, temperature: null, seed: 0 })
  expect(JSON.parse(body.bytes.toString())).toEqual({ messages, seed: 0 })
})
