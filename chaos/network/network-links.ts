/**
 * The ways between hosts, on which packets can be lost. TCP notices nothing but the loss, and repeats.
 */

import type { ProcessPlan } from '@gateway/cluster/supervise'
import { BACKENDS, endsOf, type LinkName, PROCESSES, type ProcessName } from '../plan/places.ts'
import type { Links } from '../stage/links.ts'
import { openHosts } from './hosts.ts'

export interface Loss {
  /** From those who connect, or to them; both when left out. */
  way?: 'outward' | 'inward'
  /** Of the packets; all when left out. */
  share?: number
}

/** Ends the loss. */
export type Losing = () => Promise<void>

export interface Network extends Links {
  /** Resolves when packets are lost. */
  lose(link: LinkName, loss?: Loss): Promise<Losing>
  /** Nothing leaves the host or reaches it. */
  isolate(process: ProcessName): Promise<Losing>
}

const SERVERS = { nats: 'NATS_URL', redis: 'REDIS_URL', postgres: 'DATABASE_URL' } as const
const isHost = (name: string): name is ProcessName => (PROCESSES as readonly string[]).includes(name)

/** `backends`: where they listen. */
export async function openNetwork(backends: Record<string, string>): Promise<Network> {
  const hosts = await openHosts(PROCESSES, ['clients', ...Object.keys(SERVERS), ...BACKENDS])
  for (const [name, url] of Object.entries(backends)) await hosts.serve(name, portOf(url))
  let servers: Promise<unknown> | undefined

  async function loseAll(host: string, rules: string[][]): Promise<Losing> {
    const ends = await Promise.all(rules.map((rule) => hosts.filter(host, rule)))
    return async () => void (await Promise.all(ends.map((end) => end())))
  }

  async function prepare(plan: ProcessPlan): Promise<ProcessPlan> {
    const place = isHost(plan.name) ? plan.name : 'clients'
    for (const name of ['PORT', 'HEALTH_PORT']) {
      const port = plan.environment[name]
      if (port) await hosts.serve(place, Number(port))
    }
    if (!isHost(plan.name)) return plan
    servers ??= Promise.all(
      Object.entries(SERVERS).map(([name, variable]) => hosts.serve(name, portOf(plan.environment[variable]!))),
    )
    await servers
    return { ...plan, launcher: hosts.on(plan.name) }
  }

  return {
    lose(link, { way, share = 1 } = {}) {
      const [from, to] = endsOf(link)
      const [host, peer] = isHost(from) ? [from, to] : [to, from]
      const address = hosts.addressOf(peer)
      const chance = share < 1 ? ['-m', 'statistic', '--mode', 'random', '--probability', String(share)] : []
      const leaving = ['OUTPUT', '-d', address, ...chance, '-j', 'DROP']
      const arriving = ['INPUT', '-s', address, ...chance, '-j', 'DROP']
      if (way === undefined) return loseAll(host, [leaving, arriving])
      return loseAll(host, [(way === 'outward') === (host === from) ? leaving : arriving])
    },
    isolate: (process) =>
      loseAll(process, [
        ['OUTPUT', '-o', 'eth0', '-j', 'DROP'],
        ['INPUT', '-i', 'eth0', '-j', 'DROP'],
      ]),
    prepare,
    toEdge: (_name, url) => Promise.resolve(url),
    of(name) {
      throw new Error(`${name} is no proxy: packets are lost there`)
    },
    // The network goes with this process.
    async [Symbol.asyncDispose]() {},
  }
}

const portOf = (url: string): number => Number(new URL(url).port)
