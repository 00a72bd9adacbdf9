/**
 * A parameter that a vendor refuses, through the whole chain on real servers. The client has its response, plain and
 * streamed, and reads the names of the parameters that were left out.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster } from '@gateway/cluster/start'
import { expect, test } from 'vitest'
import { userMessages, newDeveloper } from './promises/gateway.ts'

/** As Gemini's, which knows no `seed` (n4ze3m/page-assist#418, 2025-02-18). It leaves out all that a server may. */
function startStrictServer() {
  const bodies: Record<string, unknown>[] = []
  const server = createServer((request, response) => {
    void (async () => {
      let text = ''
      for await (const piece of request) text += piece
      const body = JSON.parse(text || '{}') as Record<string, unknown>
      bodies.push(body)
      response.setHeader('content-type', body['stream'] ? 'text/event-stream' : 'application/json')
      if ('seed' in body) {
        const message = 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'
        response.writeHead(400, { 'content-type': 'application/json' })
        response.end(JSON.stringify([{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]))
      } else if (body['stream']) {
        const chunks = [{ delta: { content: 'Hello' } }, { delta: {}, finish_reason: 'stop' }]
        response.end(chunks.map((choice) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`).join(''))
      } else response.end(JSON.stringify({ choices: [{ message: { content: 'Hello' } }] }))
    })()
  })
  return { server, bodies }
}

test('a parameter that the backend refuses is left out and named', async () => {
  await using stack = new AsyncDisposableStack()
  const { server, bodies } = startStrictServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack.defer(() => void server.close())
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-dropped-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const config = join(dataDir, 'gateway.yaml')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1beta/openai`
  const targets = [{ backend: 'gemini', model: 'gemini-2.5-flash' }]
  await writeFile(
    config,
    JSON.stringify({
      backends: [{ id: 'gemini', vendor: 'gemini', url, apiKey: 'a-key-of-gemini' }],
      pools: [{ id: 'nova', targets }],
    }),
  )
  const cluster = stack.use(
    await startCluster({ edges: 1, routers: 1, dataDir, environment: { GATEWAY_CONFIG: config } }),
  )
  const { key } = await newDeveloper({ urls: [cluster.edges[0]!], issuer: cluster.issuer })

  for (const stream of [false, true]) {
    const response = await fetch(`${cluster.edges[0]}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-core', messages: userMessages('Hi'), seed: 7, temperature: 0.5, stream }),
    })
    const text = await response.text()
    expect({ status: response.status, text }).toMatchObject({ status: 200 })
    expect(response.headers.get('x-svc-dropped-params')).toBe('seed')
    expect(response.headers.get('x-svc-upstream')).toBe('nova')
    const record = JSON.parse(stream ? /^data: (\{.*)$/m.exec(text)![1]! : text) as Record<string, unknown>
    expect(record).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: stream ? 'chat.completion.chunk' : 'chat.completion',
      model: 'gemini-2.5-flash',
      created: expect.any(Number),
      choices: [{ index: 0 }],
    })
    expect(bodies.at(-1)).toMatchObject({ temperature: 0.5 })
  }
  // Once learnt, the parameter is not sent again.
  expect(bodies.filter((body) => 'seed' in body)).toHaveLength(1)
})
