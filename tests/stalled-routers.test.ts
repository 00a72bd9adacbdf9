/** A request that blocks the event loop of each router that takes it does not go round until all of them stand still. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { startCluster } from '@gateway/cluster/start'
import { expect, test } from 'vitest'
import { newDeveloper } from './promises/gateway.ts'

const PRELOAD = pathToFileURL(join(import.meta.dirname, 'stalled-routers', 'stall.mjs')).href

test.each([
  ['long', 'stall the router '.repeat(2_000), 3],
  // Its first router does not say that it has it.
  ['short', 'stall the router', 4],
])('a %s request that stalls its router does not meet all of five, and ends in an error', async (_, words, most) => {
  await using stack = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-stalled-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const stalls = join(dataDir, 'stalls')
  await writeFile(stalls, '')
  const environment = { NODE_OPTIONS: `--import ${PRELOAD}`, STALLS: stalls }
  const cluster = stack.use(await startCluster({ edges: 1, routers: 5, dataDir, environment }))
  const url = cluster.edges[0]!
  const { key } = await newDeveloper({ urls: [url], issuer: cluster.issuer })
  const sendRequest = async (input: string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'svc-embed', input })
    const response = await fetch(`${url}/v1/embeddings`, { method: 'POST', headers, body })
    await response.arrayBuffer()
    return response.status
  }
  const stalled = async () => (await readFile(stalls, 'utf8')).split('\n').filter((line) => line !== '')

  // The edge knows routers that are awake.
  for (let i = 0; i < 12; i++) expect(await sendRequest(`hello ${i}`)).toBe(200)
  const poison = sendRequest(words)
  const isOver = () => Promise.race([poison.then(() => true), sleep(200, false)])
  for (let i = 0; !(await isOver()); i++) expect(await sendRequest(`meanwhile ${i}`)).toBe(200)
  expect(await poison).toBe(503)
  await sleep(15_000)
  const routers = await stalled()
  expect(new Set(routers).size).toBeLessThanOrEqual(most)
  expect(routers.length).toBeLessThanOrEqual(most)
  expect(await sendRequest('afterwards')).toBe(200)
})
