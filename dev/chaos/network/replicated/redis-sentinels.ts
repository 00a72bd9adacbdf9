/**
 * Redis with two asynchronous replicas, and three Sentinels on hosts of their own. They alone promote a replica, and
 * notify the gateway, which knows only them. A primary that does not hear of its replicas refuses writes.
 */

import { freePorts } from '@gateway/embedded-postgres/free-port'
import { findProgram } from '@gateway/servers/find-program'
import { SENTINEL_NAME, sentinelUrl, startSentinel, untilSentinelsKnow } from '@gateway/servers/redis-sentinel'
import { commandRedis } from '@gateway/testing/redis-command'
import { SENTINEL_HOSTS } from '../../plan/places.ts'
import type { Hosts } from '../hosts.ts'
import type { Disks } from './host-disk.ts'
import { NEEDS_A_COPY } from './redis-copies.ts'
import { openRedisNodes, type ReplicatedRedis, until } from './redis-nodes.ts'

/** Two busy cores may keep a healthy primary silent for a second. */
const DOWN_AFTER_MS = 2_000
const AGREE_WITHIN_MS = 30_000

export async function openRedisSentinels(hosts: Hosts, folder: string, disks: Disks): Promise<ReplicatedRedis> {
  await using opening = new AsyncDisposableStack()
  const nodes = opening.use(
    await openRedisNodes({ hosts, folder, disks, form: 'sentinels', settings: () => NEEDS_A_COPY }),
  )
  const [first = 0] = nodes.ports
  for (const index of nodes.hosts.keys()) {
    if (index > 0) await nodes.follow(index, first)
  }
  await nodes.caughtUp(1)
  const file = findProgram('redis-server')!
  const ports = await freePorts(SENTINEL_HOSTS.length)
  const sentinels = await Promise.all(
    SENTINEL_HOSTS.map(async (host, index) => {
      const port = ports[index]!
      await hosts.serve(host, port)
      const watched = { primaryPort: String(first), downAfterMs: DOWN_AFTER_MS, launcher: hosts.on(host) }
      return opening.use(await startSentinel(file, { directory: disks[host].folder, port }, watched))
    }),
  )
  await untilSentinelsKnow(sentinels, nodes.hosts.length - 1)
  nodes.watch()

  /** Null while they do not agree, or one finds the primary away or fails it over. */
  async function primaryByAll(): Promise<number | null> {
    const requested = sentinels.map(({ url }) => commandRedis(url, 'SENTINEL', 'MASTER', SENTINEL_NAME))
    const responses = (await Promise.all(requested).catch(() => [])) as string[][]
    const [well, ...others] = new Set(
      responses.map((fields) => `${valueOf(fields, 'flags')} ${valueOf(fields, 'port')}`),
    )
    const [flags, port] = well?.split(' ') ?? []
    return flags === 'master' && others.length === 0 ? nodes.ports.indexOf(Number(port)) : null
  }
  async function agreedPrimary(): Promise<number> {
    let agreed: number | null = null
    await until('the Sentinels agree', AGREE_WITHIN_MS, async () => (agreed = await primaryByAll()) !== null)
    return agreed!
  }
  const { promotionsAtMs, kill, scriptsRun, servesFor } = nodes
  let former = 0
  let shifted = 0

  const opened = opening.move()
  return {
    url: sentinelUrl(sentinels),
    promotionsAtMs,
    kill,
    scriptsRun,
    servesFor,
    async primary() {
      former = await agreedPrimary()
      return nodes.hosts[former]!
    },
    copiesOf: (host) => nodes.hosts.filter((other) => other !== host),
    decidersOf: () => SENTINEL_HOSTS,
    promote: () => nodes.promoted(promotionsAtMs.length),
    // The Sentinels make it a replica some seconds after they hear of it again.
    rejoin: () => nodes.rejoined(former),
    async caughtUp() {
      await agreedPrimary()
      await nodes.caughtUp(1)
    },
    async setClock(wrongByMs) {
      if (wrongByMs !== 0) shifted = await agreedPrimary()
      await nodes.setClock(shifted, wrongByMs)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function valueOf(fields: readonly string[], name: string): string {
  return fields[fields.indexOf(name) + 1]!
}
