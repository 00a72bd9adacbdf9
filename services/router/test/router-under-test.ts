/**
 * A whole router without a bus: jobs are handed to it as the bus would, and its usage reports are kept.
 */

import type { Bus, IncomingJob } from '@gateway/bus/port'
import { backendConfig, poolConfig, type GatewayConfig } from '@gateway/contracts/config'
import { procedures } from '@gateway/contracts/bus-roles'
import type { StateSecretsReply } from '@gateway/contracts/keys-api'
import type { RouterAlive } from '@gateway/contracts/routers-api'
import { subjects } from '@gateway/contracts/subjects'
import type { UsageBatch, UsageEvent } from '@gateway/contracts/usage-event'
import type { Logger } from '@gateway/telemetry/logger'
import { encodeJson } from '@gateway/rpc/json'
import { startRouter } from '../src/start.ts'
import { fakeJob, headerOf, type FakeJob } from './fake-job.ts'
import type { JobHeader } from '@gateway/contracts/job'

type BackendInput = Parameters<typeof backendConfig.parse>[0]
type PoolInput = Parameters<typeof poolConfig.parse>[0]

export interface RouterUnderTest extends AsyncDisposable {
  send(header?: Partial<JobHeader>, body?: object): FakeJob
  /** Sends a job and waits for its last frame. */
  sendRequest(header?: Partial<JobHeader>, body?: object): Promise<FakeJob>
  reports: UsageEvent[]
  /** Another router says that it lives, or leaves. */
  hear(other: RouterAlive): Promise<void>
  reconfigure(config: GatewayConfig): Promise<void>
  servedPools(): string[]
  /** A job that is on its way already when the router stops taking. */
  keepTaker(): () => FakeJob
}

export function configOf(backends: object[], pools: object[]): GatewayConfig {
  return {
    revision: 'r1',
    backends: backends.map((backend) => backendConfig.parse(backend as BackendInput)),
    pools: pools.map((pool) => poolConfig.parse(pool as PoolInput)),
    models: [],
    plans: [],
  }
}

/** One pool `spark` over backends named a, b, c, …, in that order of priority unless the test says otherwise. */
export function poolOver(
  urls: string[],
  options: { backend?: object; backends?: object[]; targets?: object[]; pool?: object } = {},
): GatewayConfig {
  const ids = urls.map((_, i) => String.fromCharCode(97 + i))
  const timeouts = { connectMs: 20_000, firstByteMs: 20_000, idleMs: 20_000 }
  const capabilities = ['chat', 'tools', 'embeddings', 'images']
  return configOf(
    urls.map((url, i) => ({ id: ids[i], url, timeouts, capabilities, ...options.backend, ...options.backends?.[i] })),
    [
      {
        id: 'spark',
        targets: ids.map((id, i) => ({ backend: id, model: `model-${id}`, priority: i + 1, ...options.targets?.[i] })),
        ...options.pool,
      },
    ],
  )
}

const DEFAULT_SECRETS = {
  secrets: [{ masterKeyId: 'c0ffee000000', secret: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 10))

export async function startRouterUnderTest(
  config: GatewayConfig,
  environment: NodeJS.ProcessEnv = {},
  parts: { responseBytes?: number; logger?: Logger; stateSecrets?: StateSecretsReply | 'away' } = {},
): Promise<RouterUnderTest> {
  const reports: UsageEvent[] = []
  let received: (payload: Uint8Array) => void = () => {}
  const takers = new Map<string, (job: IncomingJob) => void>()
  const bus = {
    async serveJobs(subject: string, _group: string, handler: (job: IncomingJob) => void) {
      takers.set(subject, handler)
      return {
        async [Symbol.asyncDispose]() {
          takers.delete(subject)
        },
      }
    },
    durable: {
      async publish(_subject: string, payload: Uint8Array) {
        reports.push(...(JSON.parse(Buffer.from(payload).toString()) as UsageBatch).events)
      },
    },
    kept: { read: async () => null, write: async () => {} },
    processId: 'router-under-test',
    broadcast() {},
    async listen(subject: string, handler: (payload: Uint8Array) => void) {
      if (subject === subjects.routersAlive) received = handler
      return { async [Symbol.asyncDispose]() {} }
    },
    async request(subject: string) {
      if (subject === procedures.keysBackendControls.subject) return encodeJson({ controls: [] })
      const { stateSecrets = DEFAULT_SECRETS } = parts
      if (subject !== procedures.keysStateSecrets.subject || stateSecrets === 'away')
        throw new Error('nobody serves it')
      return encodeJson(stateSecrets)
    },
    serve: async () => ({ async [Symbol.asyncDispose]() {} }),
    async flush() {},
  } as unknown as Bus
  let changed: (config: GatewayConfig) => void = () => {}
  const source = {
    current: config,
    onChange(listener: (config: GatewayConfig) => void) {
      changed = listener
      return { [Symbol.dispose]() {} }
    },
  }
  const logger = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger
  const { stateSecrets: _, ...own } = parts
  const router = await startRouter({ bus, config: source as never, environment, logger, ...own })

  function send(header: Partial<JobHeader> = {}, body?: object): FakeJob {
    const full = headerOf(header)
    const job = fakeJob(full, body)
    const subject = full.compaction === undefined ? subjects.job(full.pool) : subjects.compaction(full.pool)
    const take = takers.get(subject)
    if (!take) throw new Error(`no router takes jobs of ${full.pool}`)
    take(job.job)
    return job
  }

  return {
    send,
    async sendRequest(header, body) {
      const job = send(header, body)
      await job.over
      return job
    },
    reports,
    async hear(other) {
      received(Buffer.from(JSON.stringify(other)))
      await settled()
    },
    async reconfigure(next) {
      changed(next)
      await settled()
    },
    keepTaker() {
      const take = takers.get('job.spark')!
      return () => {
        const job = fakeJob(headerOf())
        take(job.job)
        return job
      }
    },
    servedPools: () => [...takers.keys()].filter((subject) => subject.startsWith('job.')),
    [Symbol.asyncDispose]: () => router[Symbol.asyncDispose](),
  }
}
