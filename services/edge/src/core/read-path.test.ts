import { expect, test } from 'vitest'
import { dialectOfPath, hintFor, nearestPath } from './read-path.ts'

test.each([
  ['/v1/messages', 'messages'],
  ['/v1/messages?beta=true', 'messages'],
  ['/v1/messages/count_tokens', 'messages'],
  ['/v1/messages/nothing', 'messages'],
  ['/v1/responses', 'responses'],
  ['/v1/responses/resp_1', 'responses'],
  ['/v1/chat/completions', 'chat'],
  ['/v1/messagesx', 'chat'],
  ['/v2/messages', 'chat'],
  ['/messages', 'chat'],
  ['/v1/models/messages', 'chat'],
  ['http://gateway/v1/messages?beta=true', 'messages'],
  ['HTTPS://gateway:8443/v1/responses', 'responses'],
  ['http://v1/messages', 'chat'],
  ['*', 'chat'],
  [undefined, 'chat'],
])('%s responds as %s does', (target, dialect) => {
  expect(dialectOfPath(target)).toBe(dialect)
})

const KNOWN = ['/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens', '/v1/models', '/billing/quota']

test.each([
  ['/chat/completions', '/v1/chat/completions'],
  ['/v1/v1/chat/completions', '/v1/chat/completions'],
  ['/openai/v1/chat/completions', '/v1/chat/completions'],
  ['/V1/Chat/Completions', '/v1/chat/completions'],
  ['/v1/v1/messages', '/v1/messages'],
  ['/messages/count_tokens', '/v1/messages/count_tokens'],
  ['/models/', '/v1/models'],
  ['/v1/billing/quota', '/billing/quota'],
])('%s was meant as %s', (path, meant) => expect(nearestPath(path, KNOWN)).toBe(meant))

test.each(['/', '', '/v1', '/v1/completions', '/v1/audio/speech', '/mymodels', '/.env'])(
  '%s was meant as none',
  (path) => expect(nearestPath(path, KNOWN)).toBeNull(),
)

test.each([
  ['/v1/v1/messages', "; it is at /v1/messages, so check the client's base URL"],
  ['/v1/completions', '; models are asked at /v1/chat/completions, so set the client to chat'],
  ['/v1/engines/davinci/completions', '; models are asked at /v1/chat/completions, so set the client to chat'],
  ['/v1/audio/speech', ''],
])('a client at %s reads: %s', (path, hint) => expect(hintFor(path, KNOWN)).toBe(hint))
