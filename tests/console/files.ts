/**
 * The console's files on their way to a browser, and the bytes that a sign-in takes.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { stage } from './shared-stage.ts'

const DIST = join(import.meta.dirname, '../../services/console/dist')

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${stage.gateway.url}${path}`, { headers: { 'accept-encoding': 'identity', ...headers }, redirect: 'manual' })

describe('the page', () => {
  test.each(['/console', '/console/', '/console/usage', '/console/callback?code=x'])(
    'is at %s, validated at each request',
    async (path) => {
      const response = await get(path)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-cache')
      expect(await response.text()).toContain('<div id="root">')
      const again = await get(path, { 'if-none-match': response.headers.get('etag')! })
      expect(again.status).toBe(304)
    },
  )

  test('may run its own scripts and styles and call the gateway and the identity provider, nothing else', async () => {
    const { headers } = await get('/console')
    const policy = headers.get('content-security-policy')!
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        `connect-src 'self' ${stage.gateway.issuer}`,
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]),
    )
    expect(policy).not.toContain('unsafe')
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    })
  })

  test.each([
    '/console/assets/gone-12345678.js',
    '/console/..%2fpackage.json',
    '/console/%2e%2e/%2e%2e/package.json',
    '/consolation',
  ])('is not the response for %s', async (path) => {
    const response = await get(path)
    expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'NOT_FOUND' } }])
  })

  test('is not something to write to', async () => {
    const response = await fetch(`${stage.gateway.url}/console`, { method: 'POST' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
  })
})

describe('its files', () => {
  const html = readFileSync(join(DIST, 'index.html'), 'utf8')
  const linked = [...html.matchAll(/(?:src|href)="\/console\/([^"]+)"/g)].map(([, path]) => path!)

  test('are kept for ever under names that change with their content', async () => {
    const assets = linked.filter((path) => path.startsWith('assets/'))
    expect(assets.length).toBeGreaterThan(1)
    for (const path of assets) {
      expect(path).toMatch(/-[\w-]{8}\.(js|css)$/)
      const response = await get(`/console/${path}`)
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    }
  })

  test.each(['br', 'gzip'])('travel as %s where the browser takes it', async (coding) => {
    const script = linked.find((path) => path.endsWith('.js'))!
    const plain = await (await get(`/console/${script}`)).text()
    const response = await get(`/console/${script}`, { 'accept-encoding': coding })
    expect(response.headers.get('content-encoding')).toBe(coding)
    expect(response.headers.get('vary')).toBe('accept-encoding')
    expect(await response.text()).toBe(plain)
  })

  test('take at most 250 KB, compressed, to show the sign-in page', async () => {
    const { page } = await stage.visit()
    // The page comes twice, before and after the identity provider; the browser keeps the files.
    const requested = new Set<string>()
    page.on('response', (response) => requested.add(new URL(response.url()).pathname))
    await page.goto(`${stage.gateway.url}/console`)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.waitForLoadState('networkidle')
    const files = [...requested].filter((path) => path.startsWith('/console/assets/'))
    expect(files.some((path) => path.endsWith('.css'))).toBe(true)
    const sizes = files.map((path) => gzipSync(readFileSync(join(DIST, path.slice('/console/'.length)))).byteLength)
    const total = sizes.reduce((sum, size) => sum + size, gzipSync(html).byteLength)
    expect(total).toBeLessThanOrEqual(250_000)
  })
})

test('config.json gives the page its own address and the address of the identity provider', async () => {
  const response = await get('/console/config.json')
  expect(response.headers.get('cache-control')).toBe('no-cache')
  const { url, issuer } = stage.gateway
  expect(await response.json()).toEqual({
    gatewayUrl: url,
    consoleUrl: `${url}/console`,
    docsUrl: `${url}/docs`,
    signIn: { issuer, audience: url, clientId: 'gateway-console', scope: 'openid profile keys' },
  })
})
