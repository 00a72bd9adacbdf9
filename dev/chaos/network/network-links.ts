/**
 * The ways between hosts, on which packets can be lost or late. TCP notices nothing else, and repeats.
 */

import type { ProcessPlan } from '@gateway/cluster/supervise'
import {
  BACKENDS,
  endsOf,
  hostsOfServers,
  type LinkName,
  PROCESSES,
  type ProcessName,
  type RedisForm,
  type ServerName,
} from '../plan/places.ts'
import type { Links } from '../stage/links.ts'
import { startDelayer, TO_DELAYER } from './delay-packets.ts'
import { openHosts } from './hosts.ts'
import { openServers, type ReplicatedServers } from './replicated/open-servers.ts'

export interface Loss {
  /** From those who connect, or to them; both when left out. */
  way?: 'outward' | 'inward'
  /** The share of the packets; all when left out. */
  share?: number
}

/** Ends the loss. */
export type Losing = () => Promise<void>

export interface Network extends Links {
  /** Resolves when packets are lost. */
  lose(link: LinkName, loss?: Loss): Promise<Losing>
  /** Every packet takes so much longer, each way. */
  slow(link: LinkName, delayMs: number): Promise<Losing>
  /** Nothing leaves the host or reaches it, but from and to some places. */
  isolate(host: string, butFor?: readonly string[]): Promise<Losing>
  /** The host and these others do not hear each other. */
  part(host: string, from: readonly string[]): Promise<Losing>
  /** The others do not hear the host, though it hears them. */
  silence(host: string, to: readonly string[]): Promise<Losing>
  /** Every packet between the host and these others takes so much longer, each way. */
  delay(host: string, others: readonly string[], delayMs: number): Promise<Losing>
  /** Null without `--replicated`. */
  readonly servers: ReplicatedServers | null
}

const SERVERS = { nats: 'NATS_URL', redis: 'REDIS_URL', postgres: 'DATABASE_URL' } as const
const isHost = (name: string): name is ProcessName => (PROCESSES as readonly string[]).includes(name)

interface NetworkOptions {
  /** Where they listen. */
  backends: Record<string, string>
  /** Where servers with copies keep their data, and who fails Redis over; without it, the cluster starts single ones. */
  replicated: { folder: string; redis: RedisForm } | null
}

export async function openNetwork({ backends, replicated }: NetworkOptions): Promise<Network> {
  const single = replicated ? [] : Object.keys(SERVERS)
  const serverHosts = replicated && hostsOfServers(replicated.redis)
  const copies = serverHosts ? Object.values(serverHosts).flat() : []
  const hosts = await openHosts([...PROCESSES, ...copies], ['clients', ...single, ...BACKENDS])
  for (const [name, url] of Object.entries(backends)) await hosts.serve(name, portOf(url))
  const servers = replicated && (await openServers(hosts, replicated.folder, replicated.redis))
  let served: Promise<unknown> | undefined = servers ? Promise.resolve() : undefined
  const hostsOf = (place: string): readonly string[] => serverHosts?.[place as ServerName] ?? [place]

  /** The rules for packets on the link, as its host sees them. */
  function rulesOf(link: LinkName) {
    const [from, to] = endsOf(link)
    const [host, peer] = isHost(from) ? [from, to] : [to, from]
    return { host, leaving: leavingTo(hostsOf(peer)), arriving: arrivingFrom(hostsOf(peer)) }
  }

  const leavingTo = (to: readonly string[]) => to.map((place) => ['OUTPUT', '-d', hosts.addressOf(place)])
  const arrivingFrom = (from: readonly string[]) => from.map((place) => ['INPUT', '-s', hosts.addressOf(place)])
  const bothWays = (others: readonly string[]) => [...leavingTo(others), ...arrivingFrom(others)]

  /** The first rule that fits decides. */
  async function applyAll(host: string, rules: string[][]): Promise<Losing> {
    const ends: Losing[] = []
    for (const rule of rules) ends.push(await hosts.filter(host, rule))
    return async () => {
      for (const end of ends.toReversed()) await end()
    }
  }

  function waysTo(places: readonly string[], fate: 'DROP' | 'ACCEPT'): string[][] {
    return bothWays(places).map((rule) => [...rule, '-j', fate])
  }

  async function delay(host: string, rules: readonly string[][], delayMs: number): Promise<Losing> {
    const endDelayer = await startDelayer(hosts, host, delayMs)
    const end = await applyAll(
      host,
      rules.map((rule) => [...rule, ...TO_DELAYER]),
    )
    return async () => {
      await end()
      await endDelayer()
    }
  }

  async function prepare(plan: ProcessPlan): Promise<ProcessPlan> {
    const place = isHost(plan.name) ? plan.name : 'clients'
    for (const name of ['PORT', 'HEALTH_PORT']) {
      const port = plan.environment[name]
      if (port) await hosts.serve(place, Number(port))
    }
    if (!isHost(plan.name)) return plan
    served ??= Promise.all(
      Object.entries(SERVERS).map(([name, variable]) => hosts.serve(name, portOf(plan.environment[variable]!))),
    )
    await served
    return { ...plan, launcher: hosts.on(plan.name) }
  }

  return {
    servers,
    lose(link, { way, share = 1 } = {}) {
      const { host, leaving, arriving } = rulesOf(link)
      const chance = share < 1 ? ['-m', 'statistic', '--mode', 'random', '--probability', String(share)] : []
      const [outward, inward] = host === endsOf(link)[0] ? [leaving, arriving] : [arriving, leaving]
      const rules = way === undefined ? [...leaving, ...arriving] : way === 'outward' ? outward : inward
      return applyAll(
        host,
        rules.map((rule) => [...rule, ...chance, '-j', 'DROP']),
      )
    },
    slow(link, delayMs) {
      const { host, leaving, arriving } = rulesOf(link)
      return delay(host, [...leaving, ...arriving], delayMs)
    },
    part: (host, from) => applyAll(host, waysTo(from, 'DROP')),
    silence: (host, to) =>
      applyAll(
        host,
        leavingTo(to).map((rule) => [...rule, '-j', 'DROP']),
      ),
    delay: (host, others, delayMs) => delay(host, bothWays(others), delayMs),
    isolate(host, butFor = []) {
      const all = [
        ['OUTPUT', '-o', 'eth0', '-j', 'DROP'],
        ['INPUT', '-i', 'eth0', '-j', 'DROP'],
      ]
      return applyAll(host, [...waysTo(butFor, 'ACCEPT'), ...all])
    },
    prepare,
    toEdge: (_name, url) => Promise.resolve(url),
    of(name) {
      throw new Error(`${name} is no proxy: packets are lost there`)
    },
    // The network itself goes with this process.
    async [Symbol.asyncDispose]() {
      await servers?.[Symbol.asyncDispose]()
    },
  }
}

const portOf = (url: string): number => Number(new URL(url).port)
