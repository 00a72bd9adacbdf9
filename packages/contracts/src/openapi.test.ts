import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { openApiDocument } from './openapi.ts'
import { operations } from './operations.ts'

const document = openApiDocument('https://gateway.example')

test('the document is OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate({ ...structuredClone(document) })
  expect(errors ?? []).toEqual([])
  expect(valid).toBe(true)
})

test('examples hold by the schemas that the gateway parses with', () => {
  for (const { requestSchema, examples } of operations) {
    for (const { body } of examples) if (requestSchema && body) requestSchema.parse(body)
  }
})

test('operations have distinct names and distinct routes', () => {
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
  expect(new Set(operations.map(({ method, path }) => `${method} ${path}`)).size).toBe(operations.length)
})

test('every operation that takes a credential says what a missing or wrong one is answered with', () => {
  for (const { path, method, credential } of operations) {
    const { responses } = document.paths[path]![method.toLowerCase()] as { responses: Record<string, unknown> }
    expect('401' in responses).toBe(credential !== 'none')
  }
})
