import { readFileSync } from 'node:fs'
import { operations } from '@gateway/contracts/operations'
import { expect, test } from 'vitest'
import { escape, referencePage } from './reference-page.ts'

const page = referencePage({
  baseUrl: 'https://gateway.example',
  consoleUrl: 'https://gateway.example/console',
  stylesheet: '/docs/styles.css',
})

/** Pages, not operations. */
const UNDOCUMENTED = new Set(['/openapi.json', '/docs'])

test('every route of the gateway is in the reference, and nothing else is', () => {
  const app = readFileSync(new URL('../app.ts', import.meta.url), 'utf8')
  const routes = [...app.matchAll(/(?:\.route|serve)\('([^']+)'/g)]
    .map(([, path]) => path!.replace(/\*(\w+)/g, '{$1}'))
    .filter((path) => !UNDOCUMENTED.has(path))
  expect(routes.length).toBeGreaterThan(10)
  expect([...new Set(operations.map(({ path }) => path))].toSorted()).toEqual(routes.toSorted())
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
