import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import type { Operation } from '@gateway/contracts/administration/operation'
import { operations } from '@gateway/contracts/administration/operations'
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

describe('parameters of the administration API', () => {
  const parametersOf = (path: string) =>
    (document.paths[path]!['get'] as { parameters: Record<string, unknown>[] }).parameters
  const parameterOf = (path: string, name: string) => parametersOf(path).find((parameter) => parameter['name'] === name)

  test.each(Object.entries(operations).map(([name, row]) => [name, row as Operation] as const))(
    'those that %s refuses to do without are marked as required',
    (_name, { path, method, query }) => {
      const { parameters = [] } = document.paths[path]![method.toLowerCase()] as { parameters?: Parameter[] }
      const required = parameters.filter((parameter) => parameter.in === 'query' && parameter.required)
      const parsed = query.safeParse({})
      expect(required.map(({ name }) => name)).toEqual(parsed.error?.issues.map(({ path: [first] }) => first) ?? [])
    },
  )

  test('a range of times is written as effective_at[gt]=1', () => {
    expect(parameterOf('/v1/organization/audit_logs', 'effective_at')).toMatchObject({ style: 'deepObject' })
  })

  test('a switch is a boolean', () => {
    expect(parameterOf('/admin/v1/projects', 'mine')).toMatchObject({ schema: { type: 'boolean' } })
  })
})

test.each(Object.entries(operations).map(([name, row]) => [name, row as Operation] as const))(
  'the body of %s is optional exactly if the call does without it',
  (_name, { path, method, body, isYaml }) => {
    const { requestBody } = document.paths[path]![method.toLowerCase()] as { requestBody?: { required: boolean } }
    if (requestBody) expect(requestBody.required).toBe(!isYaml && !body.safeParse({}).success)
  },
)

test('an operation that responds in Anthropic’s shape, too, documents errors of both shapes', () => {
  const { responses } = document.paths['/v1/models/{id}']!['get'] as { responses: Record<string, Content> }
  const { anyOf } = responses['404']!.content['application/json']!.schema
  expect(anyOf).toHaveLength(2)
})

test('every operation documents its response to headers that are too long', () => {
  for (const { path, method } of reference) {
    const { responses } = document.paths[path]![method.toLowerCase()] as { responses: Record<string, unknown> }
    expect(Object.keys(responses)).toContain('431')
  }
})

interface Parameter {
  name: string
  in: string
  required: boolean
}

interface Content {
  content: Record<string, { schema: { anyOf?: object[] } }>
}

interface Media {
  schema: object
}
