/**
 * The address of a primary that Sentinels name, as other clients write it:
 * `redis-sentinel://user:password@sentinel-a:26379,sentinel-b:26379#mymaster`. User and password are those of Redis;
 * Sentinels that need their own get them by `?sentinel-user=…&sentinel-password=…` before the `#`.
 */

const FORM =
  /^redis(?<tls>s?)-sentinel:\/\/(?:(?<login>[^@/]*)@)?(?<hosts>[^@/#?]+)\/?(?:\?(?<query>[^#]*))?#(?<name>.+)$/
const MEMBERS = new Map([
  ['sentinel-user', 'sentinelUsername'],
  ['sentinel-password', 'sentinelPassword'],
])
const SENTINEL_PORT = 26_379

export interface SentinelAddress {
  sentinels: { host: string; port: number }[]
  /** By which the Sentinels know the primary. */
  name: string
  username?: string
  password?: string
  sentinelUsername?: string
  sentinelPassword?: string
  hasTls: boolean
}

export function isSentinelAddress(url: string): boolean {
  return /^rediss?-sentinel:/.test(url)
}

export function readSentinelAddress(url: string): SentinelAddress {
  const { tls, login = '', hosts, query, name } = FORM.exec(url)?.groups ?? {}
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
    ...readQuery(query),
    hasTls: tls === 's',
  }
}

function readQuery(query: string | undefined): Pick<SentinelAddress, 'sentinelUsername' | 'sentinelPassword'> {
  const members = [...new URLSearchParams(query)].map(([key, value]) => {
    const member = MEMBERS.get(key)
    if (!member) throw new Error(`an address of Sentinels takes only ${[...MEMBERS.keys()].join(' and ')} after its ?`)
    return [member, value]
  })
  return Object.fromEntries(members)
}
