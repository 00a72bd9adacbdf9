/**
 * A revocation that its caller was refused (503) lies on the way between an edge and the broker. A mint that succeeds
 * meanwhile outlives it.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { signIn } from '@gateway/stand-ins/sign-in'
import { expect, test } from 'vitest'
import { openLink } from '../dev/chaos/stage/link.ts'

/** The late message is handled within a request or two. */
const LOOKS = 20

test.each(['revoke', 'rotate'])('a key that a mint returned is not ended by a late %s', async (action) => {
  await using opened = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-late-'))
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }))
  const links: Awaited<ReturnType<typeof openLink>>[] = []
  const cluster = opened.use(
    await startCluster({
      edges: 2,
      routers: 1,
      dataDir,
      ownServers: true,
      environment: { LOG_LEVEL: 'warn' },
      async prepare(plan) {
        if (plan.name !== 'edge-1') return plan
        const { host, hostname, port } = new URL(plan.environment['NATS_URL']!)
        const link = opened.use(await openLink({ host: hostname, port: Number(port) }))
        links.push(link)
        const url = plan.environment['NATS_URL']!.replace(host, `127.0.0.1:${link.port}`)
        return { ...plan, environment: { ...plan.environment, NATS_URL: url } }
      },
    }),
  )
  const [link] = links
  const token = await signIn(cluster.issuer, { name: 'alice', redirectUri: `${cluster.edges[0]}/console` })
  const key = await mint(cluster, token, 0)

  link!.muteOutward()
  expect((await manage(cluster, token, 0, `/${action}`, { key })).status).toBe(503)
  expect(await mint(cluster, token, 1)).toBe(key)
  link!.heal()

  for (let look = 0; look < LOOKS; look++) expect(await mint(cluster, token, look % 2)).toBe(key)
  // Requested again, it ends the key.
  expect(await manage(cluster, token, 0, `/${action}`, { key })).toMatchObject({ status: 200 })
  expect(await mint(cluster, token, 1)).not.toBe(key)
})

async function mint(cluster: Cluster, token: string, edge: number): Promise<string> {
  const { status, body } = await manage(cluster, token, edge, '', {})
  expect(status).toBe(200)
  return String(body['key'])
}

async function manage(cluster: Cluster, token: string, edge: number, path: string, body: object) {
  const response = await fetch(`${cluster.edges[edge]}/v1/keys/developer${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
