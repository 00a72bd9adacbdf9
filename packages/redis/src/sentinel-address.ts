/**
 * The address of a primary that Sentinels name, as other clients write it:
 * `redis-sentinel://user:password@sentinel-a:26379,sentinel-b:26379#mymaster`. User and password are those of Redis.
 */

const FORM = /^redis(?<tls>s?)-sentinel:\/\/(?:(?<login>[^@/]*)@)?(?<hosts>[^@/#?]+)\/?#(?<name>.+)$/
const SENTINEL_PORT = 26_379

export interface SentinelAddress {
  sentinels: { host: string; port: number }[]
  /** By which the Sentinels know the primary. */
  name: string
  username?: string
  password?: string
  hasTls: boolean
}

export function isSentinelAddress(url: string): boolean {
  return /^rediss?-sentinel:/.test(url)
}

export function readSentinelAddress(url: string): SentinelAddress {
  const { tls, login = '', hosts, name } = FORM.exec(url)?.groups ?? {}
  if (!hosts || !name) throw new Error('an address of Sentinels is redis-sentinel://host:26379,host:26379#name')
  const { username, password } = new URL(`redis://${login}@login`)
  return {
    sentinels: hosts.split(',').map((address) => {
      const { hostname, port } = new URL(`redis://${address}`)
      // A name in brackets is an IPv6 address.
      return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || SENTINEL_PORT }
    }),
    name: decodeURIComponent(name),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    hasTls: tls === 's',
  }
}
