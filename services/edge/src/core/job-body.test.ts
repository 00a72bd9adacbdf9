import { expect, test } from 'vitest'
import { jobBody } from './job-body.ts'

test('the router writes the model and the stream flags; everything else passes through', () => {
  const body = jobBody({
    model: 'svc-core',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'model' }],
    chat_template_kwargs: { enable_thinking: false },
    a_field_of_tomorrow: { model: 'kept' },
  })
  expect(JSON.parse(Buffer.from(body).toString())).toEqual({
    messages: [{ role: 'user', content: 'model' }],
    chat_template_kwargs: { enable_thinking: false },
    a_field_of_tomorrow: { model: 'kept' },
  })
})

test('a cap that is null is none, so that it does not stand beside the one that the router writes', () => {
  const body = jobBody({ max_tokens: null, max_completion_tokens: null, temperature: null })
  expect(JSON.parse(Buffer.from(body).toString())).toEqual({ temperature: null })
})
