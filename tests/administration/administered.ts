/**
 * A cluster for the tests of administration: two edges, plans of both units, and the clients of its operator.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cluster, startCluster } from '@gateway/cluster/start'
import OpenAI from 'openai'
import { configFor, type OperatedGateway, signInAs, startBackends } from '../promises/gateway.ts'

export interface AdministeredCluster {
  gateway: OperatedGateway
  cluster: Cluster
  /** Made by an owner who signed in. */
  adminKey: string
  /** With that key. */
  admin: OpenAI
}

interface Options {
  edges?: number
  routers?: number
  keepers?: number
  /** Beside those that each test has. */
  plans?: object[]
  /** More of the config file. */
  sections?: object
  environment?: NodeJS.ProcessEnv
}

/** Pay as you go: 3 US dollars for a million tokens of the cheapest lane. */
const PAYG = { slug: 'payg', unit: 'usd', limit: 100, rpm: 100_000, tpm: 1e9, paid: true, payAsYouGo: true }

export async function openAdministered(
  stack: AsyncDisposableStack,
  { edges = 2, routers = 1, keepers = 1, plans = [], sections = {}, environment = {} }: Options = {},
): Promise<AdministeredCluster> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-administration-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const backends = await startBackends(stack)
  const config = configFor(backends, { requestsPerMinute: 1_000_000 }) as { plans: object[] }
  const path = join(dataDir, 'gateway.yaml')
  await writeFile(path, JSON.stringify({ ...config, plans: [...config.plans, PAYG, ...plans], ...sections }))
  const cluster = stack.use(
    await startCluster({
      edges,
      routers,
      keepers,
      dataDir,
      ownServers: true,
      environment: { GATEWAY_CONFIG: path, TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn', ...environment },
    }),
  )
  const [first, ...others] = cluster.edges
  const gateway: OperatedGateway = { urls: [first!, ...others], issuer: cluster.issuer, backends, dataDir }
  const owner = adminClient(gateway, await signInAs(gateway, 'owner'))
  const { value } = await owner.admin.organization.adminAPIKeys.create({ name: 'Platform team' })
  return { gateway, cluster, adminKey: value, admin: adminClient(gateway, value) }
}

export function adminClient({ urls: [url] }: { urls: readonly [string, ...string[]] }, adminAPIKey: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: adminAPIKey, adminAPIKey, maxRetries: 0 })
}

export interface Refusal {
  status: number
  code: string
  type?: string
  scope?: string
}

/** Sends chats until one is refused, up to `most`. */
export async function chatUntilRefused(
  client: OpenAI,
  { model, most, says = 'Say: hello' }: { model: string; most: number; says?: string },
): Promise<{ admitted: number; tokens: number; refusal: Refusal | null }> {
  let tokens = 0
  for (let admitted = 0; admitted < most; admitted++) {
    try {
      const { usage } = await client.chat.completions.create({
        model,
        max_tokens: 20,
        messages: [{ role: 'user', content: says }],
      })
      tokens += usage!.total_tokens
    } catch (error) {
      if (!(error instanceof OpenAI.APIError)) throw error
      const { code, type, scope } = error.error as Refusal
      return {
        admitted,
        tokens,
        refusal: { status: Number(error.status), code, ...(type && { type }), ...(scope && { scope }) },
      }
    }
  }
  return { admitted: most, tokens, refusal: null }
}
