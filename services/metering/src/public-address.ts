/**
 * The addresses that a webhook or an export may have: public ones, unless its config allows others. A name is resolved once for each
 * attempt, and the connection goes to the address that was checked. So a name that changes its address in between reaches
 * nothing else.
 *
 * The ranges are those of IANA's registries of special-purpose addresses (read 2026-11-29).
 */

import { lookup } from 'node:dns/promises'
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net'

const SPECIAL_IPV4: readonly [address: string, bits: number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
]
/** Within 2000::/3, the one range of public addresses. */
const SPECIAL_IPV6: readonly [address: string, bits: number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const special = new BlockList()
for (const [address, bits] of SPECIAL_IPV4) special.addSubnet(address, bits, 'ipv4')
for (const [address, bits] of SPECIAL_IPV6) special.addSubnet(address, bits, 'ipv6')
const globalIpv6 = subnet('2000::', 3)
/** Addresses that stand for one of IPv4, in their last 32 bits. */
const mapped = subnet('::ffff:0:0', 96)
const translated = subnet('64:ff9b::', 96)

function subnet(address: string, bits: number): BlockList {
  const list = new BlockList()
  list.addSubnet(address, bits, 'ipv6')
  return list
}

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, 'ipv4')
  if (isIP(address) === 0 || address.includes('%')) return false
  if (mapped.check(address, 'ipv6') || translated.check(address, 'ipv6')) return isPublicAddress(lastIpv4(address))
  return globalIpv6.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

function lastIpv4(address: string): string {
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':')
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group || '0', 16))
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

export class PrivateAddressError extends Error {
  override name = 'PrivateAddressError'
}

export interface CheckedAddress {
  address: string
  family: number
}

/** Undici connects by name, and gets the checked address here. A literal address was checked itself. */
export function pinnedTo({ address, family }: CheckedAddress): { lookup: LookupFunction } {
  return {
    lookup: (_name, { all }, done) => (all ? done(null, [{ address, family }]) : done(null, address, family)),
  }
}

/** `hostname`: of a URL, so that an address of IPv6 stands in brackets. */
export async function checkedAddress(hostname: string, allowPrivate: boolean): Promise<CheckedAddress> {
  const found = await lookup(hostname.replace(/^\[(.+)\]$/, '$1'), { all: true })
  const usable = allowPrivate ? found[0] : found.find(({ address }) => isPublicAddress(address))
  if (usable) return usable
  const list = found.map(({ address }) => address).join(', ')
  throw new PrivateAddressError(
    `${hostname} is at ${list || 'no address'}, which is not public; \`allowPrivate: true\` allows it`,
  )
}
