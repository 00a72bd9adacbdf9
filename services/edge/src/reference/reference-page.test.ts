import { expect, test } from 'vitest'
import { fullReference, reference } from '../routes.ts'
import { operations } from './operations.ts'
import { curlExample, escape, type JsonSchema, referencePage, schemaRows } from './reference-page.ts'

const addresses = {
  baseUrl: 'https://gateway.example',
  consoleUrl: 'https://gateway.example/console',
  stylesheet: '/docs/styles.css',
}
const page = referencePage(addresses, fullReference)

test('every description is of one route', () => {
  expect(reference.map(({ id }) => id).toSorted()).toEqual(Object.keys(operations).toSorted())
})

test('every link within the page leads somewhere', () => {
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
  expect(targets.filter((id) => !ids.has(id))).toEqual([])
})

test('the page loads nothing but its stylesheet, and runs nothing', () => {
  expect(page).not.toMatch(/<script|<img|<iframe|style=|\son\w+=/)
  expect([...page.matchAll(/<link [^>]*href="([^"]+)"/g)].map(([, href]) => href)).toEqual(['/docs/styles.css'])
})

test('text is shown as text', () => {
  expect(escape(`<b title="x">'&'</b>`)).toBe('&lt;b title=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/b&gt;')
})

const operation = (id: string) => reference.find((candidate) => candidate.id === id)!
const BASE = 'https://gateway.example'

test('an example runs as it is printed, with the credential in the environment', () => {
  const { examples } = operation('createEmbeddings')
  expect(curlExample(BASE, operation('createEmbeddings'), examples[0]!)).toBe(
    `curl 'https://gateway.example/v1/embeddings' \\
  -H "authorization: Bearer $SVC_KEY" \\
  -H 'content-type: application/json' \\
  -d '{
  "model": "svc-embed",
  "input": "The river bends."
}'`,
  )
})

test('characters that a shell would interpret are quoted; the shell fills in the key', () => {
  const body = { key: '$KEY', note: `it's $HOME` }
  expect(curlExample(BASE, operation('rotateDeveloperKey'), { name: 'x', body })).toContain(
    `"key": "'"$SVC_KEY"'",\n  "note": "it'\\''s $HOME"`,
  )
})

test('parameters stand in the address', () => {
  expect(curlExample(BASE, operation('showModel'), { name: 'x' })).toBe(`curl '${BASE}/v1/models/svc-instant'`)
  expect(curlExample(BASE, operation('showCatalog'), { name: 'x' })).toBe(`curl '${BASE}/v1/catalog?view=tiers'`)
})

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
