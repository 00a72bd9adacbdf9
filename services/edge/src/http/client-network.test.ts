import { expect, test } from 'vitest'
import { clientAddress, networkOf } from './client-network.ts'

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
])(
  "a client's own statement of its address counts as far as proxies are trusted: %s",
  (_, forwardedFor, hops, address) => {
    expect(clientAddress('9.9.9.9', forwardedFor, (_address, hop) => hop < hops)).toBe(address)
  },
)
