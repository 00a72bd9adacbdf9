/**
 * A broker with the chart's users (`deploy/chart/files/nats-users.conf`): the whole gateway works under them. No
 * service can speak for another or read messages that are meant for another.
 */

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { parseKey } from '@gateway/contracts/api-key'
import { type Cluster, startCluster } from '@gateway/cluster/start'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accounts, replyTo, type Operation, passwords } from './nats-permissions/users.ts'
import { promiseResponses } from './promises/responses.ts'
import { configFor, type Gateway, newDeveloper, startBackends } from './promises/gateway.ts'
import { promiseIdempotency } from './promises/idempotency.ts'
import { promiseKeys } from './promises/keys.ts'
import { promiseMetering } from './promises/metering.ts'

const stack = new AsyncDisposableStack()
let cluster: Cluster
let gateway: Gateway
let dataDir: string
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gateway-permissions-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const backends = await startBackends(stack)
  const config = join(dataDir, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configFor(backends)))
  cluster = stack.use(
    await startCluster({
      edges: 2,
      routers: 2,
      dataDir,
      ownServers: true,
      natsUsers: { accounts, passwords },
      environment: { GATEWAY_CONFIG: config, TRUST_PROXY: 'loopback' },
    }),
  )
  const [first, ...others] = cluster.edges
  gateway = { urls: [first!, ...others], issuer: cluster.issuer, backends }
})
afterAll(() => stack.disposeAsync())

describe('with a user of its own for each service, the gateway keeps its promises', () => {
  promiseResponses(() => gateway)
  promiseKeys(() => gateway)
  promiseIdempotency(() => gateway)
  promiseMetering(() => gateway)

  test('the operator changes a plan', async () => {
    const { accountTag } = parseKey((await newDeveloper(gateway)).key)!
    const url = cluster.servers.nats.url.replace('://', `://ctl:${passwords['ctl']}@`)
    const ctl = (...args: string[]) =>
      promisify(execFile)(process.execPath, [resolve('packages/ctl/src/main.ts'), ...args], {
        env: { ...process.env, NATS_URL: url },
      })
    expect((await ctl('accounts', 'set-plan', accountTag, 'team')).stdout).toMatch(/plan +team\n/)
  })

  test('and no service ever tried more at the broker than it may', async () => {
    const logs = await readdir(join(dataDir, 'logs'))
    const violations = await Promise.all(
      logs.map(async (file) => {
        const text = await readFile(join(dataDir, 'logs', file), 'utf8')
        return text.split('\n').filter((line) => /permissions? violation/i.test(line))
      }),
    )
    expect(violations.flat()).toEqual([])
  })
})

const ANY_PROCESS = '0123456789abcdef0123'

describe.each<{ user: string; may: Operation[]; mayNot: Operation[] }>([
  {
    user: 'edge',
    may: [
      `SUB inbox.edge.${ANY_PROCESS}.>`,
      'PUB job.spark',
      `PUB inbox.router.${ANY_PROCESS}.f.0`,
      // Another edge may have the response that a repeated request waits for.
      `PUB inbox.edge.${ANY_PROCESS}.f.0`,
      'PUB usage.reported',
    ],
    mayNot: [
      'SUB >',
      'SUB inbox.>',
      'SUB inbox.router.*.>',
      'SUB inbox.keys.*.>',
      'SUB job.*',
      'SUB job.* routers',
      'SUB keys.mint keys',
      'SUB usage.>',
      // Another's words.
      'PUB keys.invalidated',
      'PUB routers.alive',
      'PUB keys.used',
      'PUB keys.set-plan',
      'PUB keys.top-up',
      'PUB account.threshold',
      `PUB inbox.edge.${ANY_PROCESS}.r.1`,
      `PUB inbox.keys.${ANY_PROCESS}.r.1`,
      // The stream: it stores, and neither reads nor removes.
      'PUB $JS.API.STREAM.PURGE.USAGE',
      'PUB $JS.API.STREAM.DELETE.USAGE',
      'PUB $JS.API.STREAM.MSG.GET.USAGE',
      'PUB $JS.API.CONSUMER.CREATE.USAGE',
      'PUB $JS.API.CONSUMER.MSG.NEXT.USAGE.metering-ledger',
      'PUB $JS.ACK.USAGE.metering-ledger.1.1.1.1.1',
    ],
  },
  {
    user: 'router',
    may: [`SUB inbox.router.${ANY_PROCESS}.>`, 'SUB job.spark routers', `PUB inbox.edge.${ANY_PROCESS}.f.0`],
    mayNot: [
      'SUB inbox.edge.*.>',
      // Outside of the group it would see every request without serving it.
      'SUB job.*',
      'SUB job.spark others',
      'PUB job.spark',
      `PUB inbox.edge.${ANY_PROCESS}.r.1`,
      'PUB keys.find-session',
      'PUB keys.mint',
      'PUB keys.invalidated',
      'PUB metering.warm',
      'PUB $JS.API.STREAM.PURGE.USAGE',
    ],
  },
  {
    user: 'keys',
    may: ['SUB keys.mint keys', 'PUB keys.invalidated', 'PUB account.threshold', 'PUB metering.warm'],
    mayNot: [
      'SUB inbox.edge.*.>',
      'SUB keys.mint',
      'SUB job.* routers',
      'PUB job.spark',
      'PUB usage.reported',
      // A reply that nobody requested.
      `PUB inbox.edge.${ANY_PROCESS}.r.1`,
      `PUB inbox.edge.${ANY_PROCESS}.f.0`,
      'PUB $JS.API.STREAM.PURGE.ACCOUNTS',
      'PUB $JS.API.STREAM.INFO.USAGE',
    ],
  },
  {
    user: 'metering',
    may: [
      'SUB metering.quota metering',
      'PUB $JS.API.CONSUMER.MSG.NEXT.USAGE.metering-ledger',
      'PUB keys.note-standing',
      'PUB keys.used',
    ],
    mayNot: [
      'SUB inbox.edge.*.>',
      'SUB usage.>',
      'PUB usage.reported',
      'PUB keys.set-plan',
      'PUB keys.invalidated',
      'PUB job.spark',
      'PUB $JS.API.STREAM.DELETE.USAGE',
      `PUB inbox.edge.${ANY_PROCESS}.r.1`,
    ],
  },
  {
    user: 'ctl',
    may: ['PUB keys.set-plan', `SUB inbox.ctl.${ANY_PROCESS}.>`],
    mayNot: [
      'SUB >',
      'SUB inbox.edge.*.>',
      'PUB keys.mint',
      'PUB job.spark',
      'PUB usage.reported',
      'PUB keys.invalidated',
    ],
  },
])('the user $user', ({ user, may, mayNot }) => {
  test.each(may)('may %s', async (operation) => {
    expect(await replyTo(cluster.servers.nats.url, user, operation)).toBe('+OK')
  })

  test.each(mayNot)('may not %s', async (operation) => {
    expect(await replyTo(cluster.servers.nats.url, user, operation)).toMatch(/^-ERR 'Permissions Violation/)
  })
})

test('nobody is let in without a password', async () => {
  const { hostname, port } = new URL(cluster.servers.nats.url)
  await expect(replyTo(`nats://${hostname}:${port}`, 'nobody', 'PUB job.spark')).rejects.toThrow(
    'Authorization Violation',
  )
})
