/**
 * Finds the address that a limit counts: the client's own address, or the one that trusted proxies in front report.
 */

import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import express from 'express'

/** True for the address of a proxy, so many hops away, whose word counts. */
type Trusts = (address: string, hop: number) => boolean

/** A request's network. */
export type ClientNetwork = (request: IncomingMessage) => string

/** A request's whole address. */
export type ClientAddress = (request: IncomingMessage) => string

export function clientNetwork(trustProxy: boolean | number | string): ClientNetwork {
  const addressOf = readClientAddress(trustProxy)
  return (request) => networkOf(addressOf(request))
}

/** By `TRUST_PROXY` in Express' syntax. */
export function readClientAddress(trustProxy: boolean | number | string): ClientAddress {
  // Express compiles the setting; nothing else of this application is used.
  const app = express()
  app.set('trust proxy', trustProxy)
  const trusts = app.get('trust proxy fn') as Trusts
  return ({ socket, headers }) => {
    const forwardedFor = headers['x-forwarded-for'] as string | undefined
    return withoutMapping(clientAddress(socket.remoteAddress ?? '', forwardedFor, trusts))
  }
}

/** `forwardedFor`: the header as it came, the nearest last. */
export function clientAddress(remoteAddress: string, forwardedFor: string | undefined, trusts: Trusts): string {
  if (forwardedFor === undefined) return remoteAddress
  const further = forwardedFor
    .split(',')
    .map((address) => withoutPort(address.trim()))
    .filter(Boolean)
  let address = remoteAddress
  for (let hop = 0; further.length > 0 && trusts(address, hop); hop++) address = further.pop()!
  return address
}

/** Some proxies report the client's port, too: with it, each connection would count as a client of its own. */
function withoutPort(address: string): string {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(address) ?? []
  return ipv6 ?? ipv4 ?? address
}

/** A socket for both kinds of addresses has those of IPv4 within IPv6. */
function withoutMapping(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

/** A person holds a whole IPv6 /64, so the cap counts a /64 as one. */
export function networkOf(address: string): string {
  const unmapped = withoutMapping(address)
  if (!isIPv6(unmapped)) return unmapped
  const [head = '', tail] = unmapped.toLowerCase().split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
