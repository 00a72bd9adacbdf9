import { expect, test } from 'vitest'
import { schemaRows, type JsonSchema } from './schema-rows.ts'

const rows = (schema: JsonSchema) =>
  schemaRows(schema).map(({ path, type, required }) => `${path}: ${type}${required ? ' *' : ''}`)

test('each member has a row, those within objects and arrays too', () => {
  const choice: JsonSchema = {
    type: 'object',
    properties: { message: { type: 'object', properties: { content: { type: ['string', 'null'] } } } },
    required: ['message'],
  }
  const schema: JsonSchema = { type: 'object', properties: { choices: { type: 'array', items: choice } } }
  expect(rows(schema)).toEqual([
    'choices: array of object',
    'choices[].message: object *',
    'choices[].message.content: string | null',
  ])
})

test('the members of the one alternative that has any are shown', () => {
  const part: JsonSchema = { type: 'object', properties: { text: { type: 'string' } } }
  const anyOf: JsonSchema[] = [{ type: 'string' }, { type: 'array', items: part }, { type: 'null' }]
  expect(rows({ properties: { content: { anyOf } } })).toEqual([
    'content: string | array of object | null',
    'content[].text: string',
  ])
})

test('fixed values are shown as they are sent, and a default makes a member optional', () => {
  const properties = { object: { const: 'list' }, view: { enum: ['day', 'model'], default: 'day' } }
  expect(rows({ properties, required: ['object', 'view'] })).toEqual(['object: "list" *', 'view: "day" | "model"'])
})
