import { expect, test } from 'vitest'
import { readsNested } from './error-readers.ts'

const AGENTS = {
  'AI SDK 5': 'ai/5.0.277 ai-sdk/provider-utils/3.0.44 runtime/node.js/v24.1.0',
  'AI SDK 6': 'ai/6.0.326 ai-sdk/provider-utils/4.0.65 runtime/node.js/v24.1.0',
  'AI SDK 7': 'ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/v24.1.0',
  LiteLLM: 'litellm/1.110.2',
}

test.each(Object.entries(AGENTS))('%s reads errors that are objects', (_, agent) => {
  expect(readsNested({ 'user-agent': agent })).toBe(true)
})

test.each([
  ['curl', { 'user-agent': 'curl/8.5.0' }],
  ['a browser', { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)' }],
  ['a program that says nothing of itself', {}],
  ['one that only mentions a client', { 'user-agent': 'my-ai-sdk-tool/1.0 (uses litellm-proxy)' }],
])('%s gets the form of the contract', (_, headers) => {
  expect(readsNested(headers)).toBe(false)
})

test('an SDK that names its language reads errors that are objects', () => {
  expect(readsNested({ 'x-stainless-lang': 'go', 'user-agent': 'OpenAI/Go 3.99.0' })).toBe(true)
})

test('the config decides for everybody', () => {
  expect(readsNested({}, 'openai')).toBe(true)
  expect(readsNested({ 'x-stainless-lang': 'python' }, 'flat')).toBe(false)
  expect(readsNested({ 'x-stainless-lang': 'python' }, 'auto')).toBe(true)
})
