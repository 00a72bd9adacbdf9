/** No word of a client is taken for a member that every object has: `constructor`, `__proto__`, `toString`. */

import { expect, test } from 'vitest'
import { GatewayError } from '@gateway/contracts/errors'
import { withPrototypeNames } from '@gateway/testing/prototype-names'
import { RICH_REQUESTS } from '@gateway/testing/rich-requests'
import { chat, embeddings, images, type InferenceKind } from './inference-kinds.ts'
import { countTokens, messages } from './messages.ts'
import { responses } from './responses.ts'

const MODELS = [{ id: 'm', type: 'chat', maxOutputTokens: 100 }] as never

const read = (kind: InferenceKind) => (body: unknown) => {
  const inference = kind(body, MODELS)
  inference.conversationKey?.()
  inference.estimate({ maxOutputTokens: 100 } as never, 1_000)
}

test.each<[name: string, read: (body: unknown) => void, body: object]>([
  ['chat', read(chat), RICH_REQUESTS.chat],
  ['responses', read(responses), RICH_REQUESTS.responses],
  ['messages', read(messages), RICH_REQUESTS.messages],
  ['a count of tokens', (body) => void countTokens(body), RICH_REQUESTS.messages],
  ['embeddings', read(embeddings), { model: 'm', input: 'x', encoding_format: 'float', user: 'u' }],
  ['images', read(images), { model: 'm', prompt: 'x', size: '64x64', quality: 'low' }],
])("every object's own names are words like others at any place of a body for %s", (_, readBody, body) => {
  readBody(body)
  const failures: string[] = []
  for (const { place, name, changed } of withPrototypeNames(body)) {
    try {
      readBody(changed)
    } catch (error) {
      const isRefusal = error instanceof GatewayError && error.code === 'VALIDATION_ERROR'
      if (!isRefusal) failures.push(`${place}: ${name}: ${String(error)}`)
    }
  }
  expect(failures).toEqual([])
})
