/** No word of a client is taken for a member that every object has: `constructor`, `__proto__`, `toString`. */

import { expect, test } from 'vitest'
import { GatewayError } from '@gateway/contracts/errors'
import { clientDialects } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { withPrototypeNames } from '@gateway/testing/prototype-names'
import type { InferenceKind } from './inference-kinds.ts'
import { KINDS } from './kinds.ts'
import { countTokens } from './messages.ts'

const MODELS = [{ id: 'm', type: 'chat', maxOutputTokens: 100 }] as never

const read = (kind: InferenceKind) => (body: unknown) => {
  const inference = kind(body, MODELS)
  inference.conversationKey?.()
  inference.estimate({ maxOutputTokens: 100 } as never, 1_000)
}

test.each<readonly [name: string, read: (body: unknown) => void, body: object]>([
  ...clientDialects.map((dialect) => [dialect, read(KINDS[dialect]), CLIENTS[dialect].richRequest] as const),
  ['a count of tokens', (body) => void countTokens(body), CLIENTS.messages.richRequest],
  ['embeddings', read(KINDS.embeddings), { model: 'm', input: 'x', encoding_format: 'float', user: 'u' }],
  ['images', read(KINDS.images), { model: 'm', prompt: 'x', size: '64x64', quality: 'low' }],
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
