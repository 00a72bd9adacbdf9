import { expect, test } from 'vitest'
import { reference } from '../routes.ts'
import { curlExample } from './curl-example.ts'

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

test('what a shell would read as its own is quoted; the key is filled in by the shell', () => {
  const body = { key: '$KEY', note: `it's $HOME` }
  expect(curlExample(BASE, operation('rotateDeveloperKey'), { name: 'x', body })).toContain(
    `"key": "'"$SVC_KEY"'",\n  "note": "it'\\''s $HOME"`,
  )
})

test('parameters stand in the address', () => {
  expect(curlExample(BASE, operation('showModel'), { name: 'x' })).toBe(`curl '${BASE}/v1/models/svc-instant'`)
  expect(curlExample(BASE, operation('showCatalog'), { name: 'x' })).toBe(`curl '${BASE}/v1/catalog?view=tiers'`)
})
