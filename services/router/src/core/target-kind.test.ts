import { expect, test } from 'vitest'
import { kindOf } from './target-kind.ts'

const backend = (url: string, rest: object = {}) => ({
  dialects: ['chat' as const],
  url,
  capabilities: ['chat' as const, 'tools' as const],
  ...rest,
})

test.each([
  ['two servers of our own are of one kind', backend('http://gpu-a:8000/v1'), backend('http://10.0.0.7:8000/v1'), true],
  [
    'another dialect is another kind',
    backend('http://a/v1'),
    backend('http://a/v1', { dialects: ['messages'] }),
    false,
  ],
  ['another capability too', backend('http://a/v1'), backend('http://a/v1', { capabilities: ['chat'] }), false],
  ['their order is none', backend('http://a/v1'), backend('http://a/v1', { capabilities: ['tools', 'chat'] }), true],
  ['another vendor too', backend('https://api.openai.com/v1'), backend('https://api.x.ai/v1'), false],
  [
    'two regions of a vendor are not',
    backend('https://a.openai.azure.com/v1'),
    backend('https://b.openai.azure.com/v1'),
    true,
  ],
  ['a look-alike is nobody', backend('https://notopenai.com/v1'), backend('https://openai.com.evil.org/v1'), true],
])('%s', (_, one, other, same) => {
  expect(kindOf(one) === kindOf(other)).toBe(same)
})
