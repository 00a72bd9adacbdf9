/**
 * The state of a model's reasoning on real servers. A client of chat has a long tool loop with Claude. Each turn comes to another edge, and
 * every router dies once. Each request brings all earlier thoughts back as they were.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HttpBackend, sendJson, startHttpBackend } from '../services/router/test/http-backend.ts'
import { accounts, passwords } from './nats-permissions/users.ts'
import { newDeveloper } from './promises/gateway.ts'

interface Call {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}
interface Message {
  role: string
  content: string | null
  tool_calls?: Call[]
  tool_call_id?: string
}
interface Block {
  type: string
  id?: string
  tool_use_id?: string
}

const thought = (turn: number) => ({
  type: 'thinking',
  thinking: `Thought ${turn}: "quoted", ünicode 🙂`,
  signature: Buffer.from(`signature ${turn} `.repeat(40)).toString('base64'),
})

const stack = new AsyncDisposableStack()
let claude: HttpBackend
let cluster: Cluster
beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-reasoning-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  claude = stack.use(
    await startHttpBackend((response, { body }) => {
      const turn = (body['messages'] as { role: string }[]).filter(({ role }) => role === 'assistant').length
      sendJson(response, 200, {
        id: `msg_${turn}`,
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-6',
        // Servers may name the calls of each turn alike.
        content: [thought(turn), { type: 'tool_use', id: 'toolu_1', name: 'look', input: { turn } }],
        stop_reason: 'tool_use',
        stop_sequence: null,
        usage: { input_tokens: 9, output_tokens: 3 },
      })
    }),
  )
  const config = join(dataDir, 'gateway.yaml')
  const backend = { id: 'claude', vendor: 'anthropic', url: claude.url, apiKey: 'sk-ant-test' }
  const pool = { id: 'nova', targets: [{ backend: 'claude', model: 'claude-sonnet-4-6' }] }
  await writeFile(config, JSON.stringify({ backends: [backend], pools: [pool] }))
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
})
afterAll(() => stack.disposeAsync())

async function complete(url: string, key: string, messages: Message[]) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'svc-core',
      messages,
      tools: [{ type: 'function', function: { name: 'look' } }],
    }),
  })
  return { status: response.status, json: (await response.json()) as { choices: { message: Message }[] } }
}

test('every thought comes back to its model, whichever edge and router serve the turn, and to no other account', async () => {
  const [{ key }, stranger] = await Promise.all([
    newDeveloper({ urls: [cluster.edges[0]!], issuer: cluster.issuer }),
    newDeveloper({ urls: [cluster.edges[0]!], issuer: cluster.issuer }),
  ])
  const messages: Message[] = [{ role: 'user', content: 'Look around' }]
  for (let turn = 0; turn < 8; turn++) {
    if (turn === 3) for (const name of ['router-1', 'router-2']) process.kill(cluster.process(name).pid!, 'SIGKILL')
    const { status, json } = await complete(cluster.edges[turn % 2]!, key, messages)
    expect({ status, json }).toMatchObject({ status: 200 })
    const { content, tool_calls: calls = [] } = json.choices[0]!.message
    expect(calls).toHaveLength(1)
    messages.push({ role: 'assistant', content, tool_calls: calls })
    messages.push({ role: 'tool', tool_call_id: calls[0]!.id, content: '72' })
    const sent = claude.seen.at(-1)!.body['messages'] as { role: string; content: Block[] }[]
    const turns = sent.filter(({ role }) => role === 'assistant')
    expect(turns.map(({ content: blocks }) => blocks[0])).toEqual(turns.map((_, at) => thought(at)))
    expect(turns).toHaveLength(turn)
    expect(claude.seen.at(-1)!.text).not.toMatch(/svc\d\./)
  }
  const refusal = await complete(cluster.edges[0]!, stranger.key, messages)
  expect(refusal).toMatchObject({
    status: 400,
    json: { error: expect.stringContaining('messages[1].tool_calls[0].id') },
  })
}, 120_000)
