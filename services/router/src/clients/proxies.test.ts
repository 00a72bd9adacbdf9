import { EnvironmentError } from '@gateway/service/environment'
import { describe, expect, test } from 'vitest'
import { readProxies } from './proxies.ts'

const PROXY = 'http://proxy.example:3128'
const isStraight = (url: string, noProxy: string) =>
  readProxies({ HTTPS_PROXY: PROXY, HTTP_PROXY: PROXY, NO_PROXY: noProxy })(new URL(url)) === null

describe('a backend is called', () => {
  test('straight without a proxy for its protocol, else by that one', () => {
    const proxyFor = readProxies({ HTTPS_PROXY: PROXY })
    expect(proxyFor(new URL('https://api.example/v1'))).toBe(PROXY)
    expect(proxyFor(new URL('http://api.example/v1'))).toBeNull()
    expect(readProxies({})(new URL('https://api.example/v1'))).toBeNull()
  })

  test('by the proxy of the small letters, which others write', () => {
    expect(readProxies({ https_proxy: PROXY, HTTPS_PROXY: '' })(new URL('https://api.example'))).toBe(PROXY)
  })

  test.each([
    'http://127.0.0.1:8000/v1',
    'http://localhost:8000',
    'http://[::1]:8000',
    'http://127.9.9.9',
    'http://a.localhost',
  ])('straight on this machine: %s', (url) => expect(isStraight(url, '')).toBe(true))

  test.each([
    ['http://gpu-a:8000/v1', 'gpu-a', true],
    ['http://gpu-a:8000/v1', 'gpu', false],
    ['http://vllm.models.svc.cluster.local', '.svc.cluster.local', true],
    ['http://vllm.models.svc.cluster.local.', 'cluster.local', true],
    ['http://vllm.models.svc', '*.svc', true],
    ['https://api.example', 'pi.example', false],
    ['https://API.Example', 'api.example', true],
    ['http://10.1.2.3:8000', '10.0.0.0/8', true],
    ['http://11.1.2.3:8000', '10.0.0.0/8', false],
    ['http://10.1.2.3', '2.3', false],
    ['http://[fd00::1]:8000', 'fd00::/8', true],
    ['http://[fd00::1]:8000', 'fd00::1', true],
    ['http://[fd00::1]:8000', '[fd00::1]:8000', true],
    ['http://gpu-a:8000', 'gpu-a:8000', true],
    ['http://gpu-a:8000', 'gpu-a:9000', false],
    ['https://gpu-a', 'gpu-a:443', true],
    ['https://api.example', 'gpu-a, api.example', true],
    ['https://api.example', '*', true],
    ['https://api.example', '10.0.0.0/99', false],
  ])('%s with NO_PROXY=%s: straight is %s', (url, noProxy, straight) => {
    expect(isStraight(url, noProxy)).toBe(straight)
  })
})

test('an address that is none stops the router, and no message holds it', () => {
  const read = () => readProxies({ HTTPS_PROXY: 'secret:3128' })
  expect(read).toThrow(EnvironmentError)
  expect(read).not.toThrow(/secret/)
})
