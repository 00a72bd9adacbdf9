/**
 * Every link of the cluster: the address that a process is given is a proxy before the real thing.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProcessPlan } from '@gateway/cluster/supervise'
import { endsOf, type LinkName, LINKS } from '../plan/places.ts'
import { type Link, openLink } from './link.ts'

const VARIABLES = { nats: 'NATS_URL', redis: 'REDIS_URL', postgres: 'DATABASE_URL' } as const

export interface Links extends AsyncDisposable {
  of(name: LinkName): Link
  /** Leads a process' connections through its links. */
  prepare(plan: ProcessPlan): Promise<ProcessPlan>
  /** Leads clients to an edge through theirs. */
  toEdge(name: 'edge-1' | 'edge-2', url: string): Promise<string>
}

/** `backends`: where they really listen. `config`: the file that names them. */
export function openLinks(folder: string, config: string, backends: Record<string, string>): Links {
  const opened = new Map<LinkName, Link>()
  const stack = new AsyncDisposableStack()

  async function through(name: LinkName, url: string): Promise<string> {
    const address = new URL(url)
    const link = stack.use(await openLink({ host: address.hostname, port: Number(address.port) }))
    opened.set(name, link)
    // Not by `port`, which leaves out a protocol's own.
    return url.replace(address.host, `127.0.0.1:${link.port}`)
  }

  async function routerConfig(plan: ProcessPlan): Promise<string> {
    let text = await readFile(config, 'utf8')
    for (const [backend, url] of Object.entries(backends)) {
      text = text.replaceAll(url, await through(`${plan.name}:${backend}` as LinkName, url))
    }
    const path = join(folder, `${plan.name}.yaml`)
    await writeFile(path, text)
    return path
  }

  return {
    of(name) {
      const link = opened.get(name)
      if (!link) throw new Error(`there is no link ${name}`)
      return link
    },
    async prepare(plan) {
      const environment = { ...plan.environment }
      for (const name of LINKS) {
        const [from, to] = endsOf(name)
        const variable = VARIABLES[to as keyof typeof VARIABLES]
        if (from === plan.name && variable) environment[variable] = await through(name, environment[variable]!)
      }
      if (plan.service === 'router') environment['GATEWAY_CONFIG'] = await routerConfig(plan)
      return { ...plan, environment }
    },
    toEdge: (name, url) => through(`clients:${name}`, url),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
