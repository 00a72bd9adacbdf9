import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { chatRequest } from '@gateway/contracts/chat'
import { openApiDocument } from './openapi.ts'
import { fullReference as reference } from '../routes.ts'

const document = openApiDocument('https://gateway.example', reference)

test('the document is OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate({ ...structuredClone(document) })
  expect(errors ?? []).toEqual([])
  expect(valid).toBe(true)
})

test('examples hold by the schemas that the gateway parses with', () => {
  for (const { requestSchema, examples } of reference) {
    for (const { body } of examples) if (requestSchema && body) requestSchema.parse(body)
  }
})

test('every operation that takes a credential documents its responses to a missing or wrong one, and to two that differ', () => {
  for (const { path, method, credential } of reference) {
    const { responses } = document.paths[path]![method.toLowerCase()] as { responses: Record<string, unknown> }
    expect('401' in responses).toBe(credential !== 'none')
    if (credential !== 'none') expect(Object.keys(responses)).toContain('400')
  }
})

describe('a rule that the parser has as a refinement stands in the schema, too', () => {
  const bodyOf = (path: string) => {
    const { requestBody } = document.paths[path]!['post'] as { requestBody: { content: Record<string, Media> } }
    return new Ajv2020({ strict: false }).compile(requestBody.content['application/json']!.schema)
  }
  const isChat = bodyOf('/v1/chat/completions')

  test.each(['system', 'developer', 'user', 'assistant', 'tool', 'function'])('content of a %s message', (role) => {
    const contents = [{}, { content: null }, { content: '' }, { content: 'Hi' }, { content: [] }]
    for (const content of contents) {
      const body = { messages: [{ role, ...content }] }
      expect([body, isChat(body)]).toEqual([body, chatRequest.safeParse(body).success])
    }
  })

  test.each(['text', 'image_url', 'input_audio'])('a part of type %s', (type) => {
    for (const member of [{}, { text: 'Hi' }, { image_url: { url: 'https://a.example/b.png' } }]) {
      const body = { messages: [{ role: 'user', content: [{ type, ...member }] }] }
      expect([body, isChat(body)]).toEqual([body, chatRequest.safeParse(body).success])
    }
  })
})

interface Media {
  schema: object
}
