import { expect, test } from 'vitest'
import { reference } from '../routes.ts'
import { operations } from './operations.ts'
import { escape, referencePage } from './reference-page.ts'

const addresses = {
  baseUrl: 'https://gateway.example',
  consoleUrl: 'https://gateway.example/console',
  stylesheet: '/docs/styles.css',
}
const page = referencePage(addresses, reference)

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
