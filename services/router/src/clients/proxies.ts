/**
 * By which proxy a backend is called, if by any: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in capital or small letters,
 * as the usual tools read them. This machine itself is always called straight.
 */

import { parseEnvironment, variables } from '@gateway/service/environment'
import { BlockList, isIP } from 'node:net'
import * as z from 'zod'

/** The address of the proxy; null where the backend is called straight. */
export type ProxyFor = (backend: URL) => string | null

const { HTTPS_PROXY, HTTP_PROXY, NO_PROXY } = variables
const PROXY_VARIABLES = z.object({ HTTPS_PROXY, HTTP_PROXY, NO_PROXY })
const DEFAULT_PORTS = new Map(Object.entries<string>({ 'http:': '80', 'https:': '443' }))
const OWN_MACHINE = ['localhost', '127.0.0.0/8', '::1']

export function readProxies(environment: NodeJS.ProcessEnv): ProxyFor {
  const names = Object.keys(PROXY_VARIABLES.shape)
  const either = Object.fromEntries(names.map((name) => [name, environment[name.toLowerCase()] || environment[name]]))
  const proxies = parseEnvironment(PROXY_VARIABLES, either)
  const exempt = [...OWN_MACHINE, ...(proxies.NO_PROXY ?? '').split(/[\s,]+/).filter(Boolean)].map(readExemption)
  return ({ protocol, hostname, port }) => {
    const proxy = protocol === 'https:' ? proxies.HTTPS_PROXY : proxies.HTTP_PROXY
    if (proxy === undefined) return null
    const host = nameOf(hostname)
    return exempt.some((isExempt) => isExempt(host, port || DEFAULT_PORTS.get(protocol)!)) ? null : proxy
  }
}

type IsExempt = (host: string, port: string) => boolean

/** `*`, a name with all below it, an address, a network, each but the first and the last with a port if it likes. */
function readExemption(entry: string): IsExempt {
  if (entry === '*') return () => true
  const network = networkOf(entry)
  if (network) return network
  const withPort = isIP(entry) === 6 ? null : /^(.+):(\d+)$/.exec(entry)
  const [, name = entry, ofPort] = withPort ?? []
  const sought = nameOf(name.replace(/^\*?\./, ''))
  return (host, port) =>
    (ofPort === undefined || ofPort === port) && (host === sought || (isIP(host) === 0 && host.endsWith(`.${sought}`)))
}

function networkOf(entry: string): IsExempt | null {
  const [, address = '', bits] = /^(.+)\/(\d+)$/.exec(entry) ?? []
  const version = isIP(address)
  if (version === 0 || Number(bits) > (version === 4 ? 32 : 128)) return null
  const network = new BlockList()
  network.addSubnet(address, Number(bits), `ipv${version as 4 | 6}`)
  return (host) => isIP(host) === version && network.check(host, `ipv${version as 4 | 6}`)
}

function nameOf(hostname: string): string {
  return hostname
    .replace(/^\[(.+)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase()
}
