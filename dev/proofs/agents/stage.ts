/** A gateway of real processes, with two routers, in front of a stand-in for each target dialect. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { targetDialects, type TargetDialect } from '@gateway/contracts/vendors'
import { usageRecord, type UsageRecord } from '@gateway/contracts/usage-api'
import { manageKeys, newDeveloper, send } from '../../../tests/promises/gateway.ts'
import { startStandIn, type StandIn } from './stand-in.ts'

export interface Account {
  key: string
  usage(): Promise<UsageRecord['totals']>
  /** Resolves when the gateway has confirmed it. */
  revoke(): Promise<void>
}

export interface Stage extends AsyncDisposable {
  url: string
  cluster: Cluster
  standIns: Record<TargetDialect, StandIn>
  newAccount(): Promise<Account>
  newRepository(): Promise<string>
  newHome(): Promise<string>
}

/** OpenAI's SDK compacts for models of OpenAI's alone, which it knows by the name. */
export const modelOf = (dialect: TargetDialect) => `gpt-scripted-${dialect}`

export async function openStage(): Promise<Stage> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'gateway-agents-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const started = await Promise.all(
    targetDialects.map(async (one) => [one, opening.use(await startStandIn(one))] as const),
  )
  const standIns = Object.fromEntries(started) as Record<TargetDialect, StandIn>
  const config = join(folder, 'gateway.yaml')
  // JSON is YAML.
  await writeFile(config, JSON.stringify(configOver(standIns)))
  const environment = { GATEWAY_CONFIG: config }
  const cluster = opening.use(
    await startCluster({ edges: 1, routers: 2, dataDir: join(folder, 'data'), ownServers: true, environment }),
  )
  const url = cluster.edges[0]!
  const address = { urls: [url], issuer: cluster.issuer } as const
  let folders = 0
  const newFolder = async () => {
    const path = join(folder, `work-${folders++}`)
    await mkdir(path)
    return path
  }
  const opened = opening.move()
  return {
    url,
    cluster,
    standIns,
    async newAccount() {
      const { key, token } = await newDeveloper(address)
      return {
        key,
        usage: async () => usageRecord.parse((await send(url, '/v1/usage', { key })).body).totals,
        async revoke() {
          const { status } = await manageKeys(address, token, 'POST', '/revoke', { key })
          if (status !== 200) throw new Error(`the revoke returned ${status}`)
        },
      }
    },
    async newRepository() {
      const path = await newFolder()
      await promisify(execFile)('git', ['init', '--quiet', path])
      return path
    },
    newHome: newFolder,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function configOver(standIns: Record<TargetDialect, StandIn>): object {
  return {
    backends: targetDialects.map((dialect) => ({
      id: dialect,
      url: standIns[dialect].url,
      dialects: [dialect],
      capabilities: ['chat', 'tools', 'vision'],
    })),
    pools: targetDialects.map((dialect) => ({ id: dialect, targets: [{ backend: dialect, model: 'scripted' }] })),
    models: targetDialects.map((dialect) => ({
      id: modelOf(dialect),
      type: 'chat',
      pool: dialect,
      multiplier: 1,
      maxOutputTokens: 64_000,
    })),
    plans: [
      { slug: 'guest-device', limit: 1e9, rpm: 1_000, tpm: 1e9, perDay: 1_000, guest: true },
      { slug: 'team', limit: 1e12, rpm: 10_000, tpm: 1e9, default: true },
    ],
  }
}
