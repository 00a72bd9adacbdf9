import { expect, test } from 'vitest'
import { loadEdgeSettings } from './config.ts'

const PUBLIC = { PUBLIC_BASE_URL: 'https://gateway.example' }

test('the console is served at the public address, with the scope that it requests from the identity provider', () => {
  const { console, corsOrigins } = loadEdgeSettings({ ...PUBLIC, CONSOLE_CLIENT_ID: 'us', CONSOLE_DIR: '/srv/console' })
  expect(console).toEqual({
    url: 'https://gateway.example/console',
    folder: '/srv/console',
    clientId: 'us',
    scope: 'openid profile keys',
  })
  expect(corsOrigins).toEqual([])
})

test('a console with a host of its own is not served, and its pages may call', () => {
  const elsewhere = { ...PUBLIC, CONSOLE_URL: 'https://console.example/keys' }
  expect(loadEdgeSettings(elsewhere)).toMatchObject({ console: null, corsOrigins: ['https://console.example'] })
  const others = { ...elsewhere, CORS_ORIGINS: 'https://app.example' }
  expect(loadEdgeSettings(others).corsOrigins).toEqual(['https://app.example', 'https://console.example'])
  expect(loadEdgeSettings({ ...elsewhere, CORS_ORIGINS: '*' }).corsOrigins).toEqual(['*'])
})

test('proxies that are no addresses are refused before anything is opened, and not quoted', () => {
  expect(() => loadEdgeSettings({ ...PUBLIC, TRUST_PROXY: 'my-proxy' })).toThrow(
    /^(?!.*my-proxy).*TRUST_PROXY {2}must name addresses or their ranges; set it to /s,
  )
  expect(loadEdgeSettings({ ...PUBLIC, TRUST_PROXY: 'loopback, 10.0.0.0/8' }).trustProxy).toBe('loopback, 10.0.0.0/8')
})
