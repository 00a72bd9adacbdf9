import { expect, test } from 'vitest'
import { isSentinelAddress, readSentinelAddress } from './sentinel-address.ts'

test.each([
  ['redis-sentinel://a#notes', { sentinels: [{ host: 'a', port: 26_379 }], name: 'notes', hasTls: false }],
  [
    'redis-sentinel://a:1,[::1]:2,10.0.0.3/#notes',
    {
      sentinels: [
        { host: 'a', port: 1 },
        { host: '::1', port: 2 },
        { host: '10.0.0.3', port: 26_379 },
      ],
      name: 'notes',
      hasTls: false,
    },
  ],
  [
    'rediss-sentinel://gateway:p%40ss@a:1#our%20notes',
    { sentinels: [{ host: 'a', port: 1 }], name: 'our notes', username: 'gateway', password: 'p@ss', hasTls: true },
  ],
  [
    'redis-sentinel://:secret@a#notes',
    { sentinels: [{ host: 'a', port: 26_379 }], name: 'notes', password: 'secret', hasTls: false },
  ],
  [
    'redis-sentinel://a?sentinel-user=watcher&sentinel-password=p%26w#notes',
    {
      sentinels: [{ host: 'a', port: 26_379 }],
      name: 'notes',
      sentinelUsername: 'watcher',
      sentinelPassword: 'p&w',
      hasTls: false,
    },
  ],
])('%s', (url, address) => {
  expect(isSentinelAddress(url)).toBe(true)
  expect(readSentinelAddress(url)).toEqual(address)
})

test.each(['redis-sentinel://a:1', 'redis-sentinel://#notes', 'redis-sentinel://a:1/0#notes'])(
  '%s is refused',
  (url) => {
    expect(() => readSentinelAddress(url)).toThrow('an address of Sentinels is')
  },
)

test('other addresses are none', () => {
  expect(isSentinelAddress('redis://a:6379,redis://b:6379')).toBe(false)
})

test('an unknown member is refused without its value', () => {
  expect(() => readSentinelAddress('redis-sentinel://a:1?password=secret#notes')).toThrow(/takes only (?!.*secret)/)
})
