import type { IncomingMessage as Request } from 'node:http'
import { expect, test } from 'vitest'
import { clientAddress, clientNetwork, networkOf, readClientAddress } from './client-network.ts'

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('the cap on new devices counts %s as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test.each<[string, string | undefined, number, string]>([
  ['no proxy is trusted', '1.1.1.1', 0, '9.9.9.9'],
  ['one is', '2.2.2.2, 1.1.1.1', 1, '1.1.1.1'],
  ['two are', '2.2.2.2, 1.1.1.1', 2, '2.2.2.2'],
  ['more than there are', '1.1.1.1', 5, '1.1.1.1'],
  ['nothing was forwarded', undefined, 5, '9.9.9.9'],
  ['nothing was said', ' , ', 5, '9.9.9.9'],
  ['with the port of its connection', '2.2.2.2:50000, 1.1.1.1:50001', 2, '2.2.2.2'],
  ['in brackets', '[2001:db8::1]', 1, '2001:db8::1'],
  ['in brackets, with its port', '[2001:db8::1]:50000', 1, '2001:db8::1'],
  ['without brackets, so that nothing is a port', '2001:db8::1:5000', 1, '2001:db8::1:5000'],
])(
  "a client's own statement of its address counts as far as proxies are trusted: %s",
  (_, forwardedFor, hops, address) => {
    expect(clientAddress('9.9.9.9', forwardedFor, (_address, hop) => hop < hops)).toBe(address)
  },
)

test('a proxy that reports ports is trusted by its address, and all connections of a client are one network', () => {
  const addressOf = readClientAddress('10.0.0.0/8')
  const network = clientNetwork('10.0.0.0/8')
  const through = (forwardedFor: string) =>
    ({ socket: { remoteAddress: '10.0.0.1' }, headers: { 'x-forwarded-for': forwardedFor } }) as unknown as Request
  expect(addressOf(through('6.6.6.6, 203.0.113.9:50000, 10.0.0.2:443'))).toBe('203.0.113.9')
  for (const port of [1, 50_000, 65_535]) {
    expect(network(through(`203.0.113.9:${port}`))).toBe('203.0.113.9')
    expect(network(through(`[2001:db8:1:2::9]:${port}`))).toBe('2001:db8:1:2::/64')
  }
})
