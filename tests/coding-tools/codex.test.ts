/**
 * Codex as npm ships it. Nothing in it is ours but the provider's address, its key and the model.
 */

import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MODEL, openWorkshop, runTool, toolPath, type Workshop } from './workshop.ts'

let workshop: Workshop
beforeAll(async () => {
  workshop = await openWorkshop()
})
afterAll(() => workshop[Symbol.asyncDispose]())

interface Event {
  type: string
  item?: { type: string; text?: string; command?: string; exit_code?: number }
  usage?: { input_tokens: number; output_tokens: number }
}

async function codex(repository: string, key: string, task: string, usesWebSocket: boolean) {
  await using wire = await watchWire(workshop.url)
  const baseUrl = wire.url
  const provider = {
    ...{ name: 'gateway', base_url: `${baseUrl}/v1`, env_key: 'GATEWAY_KEY', wire_api: 'responses' },
    supports_websockets: usesWebSocket,
  }
  const members = Object.entries(provider).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  const settings = ['model_provider=gateway', `model_providers.gateway={${members.join(',')}}`]
  const options = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-m', MODEL]
  const home = await workshop.newHome()
  const ran = await runTool(
    process.execPath,
    [toolPath('@openai/codex/bin/codex.js'), 'exec', ...options, ...settings.flatMap((each) => ['-c', each]), task],
    { cwd: repository, env: { CODEX_HOME: home, HOME: home, GATEWAY_KEY: key } },
  )
  const events = ran.out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Event)
  return { ...ran, events, wire: wire.requests }
}

/** Passes all bytes on, and keeps the first line of each connection. */
async function watchWire(url: string) {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const target = connect(Number(new URL(url).port), '127.0.0.1')
    client.once('data', (bytes: Buffer) => requests.push(bytes.toString('latin1').split('\r\n', 1)[0]!))
    for (const socket of [client, target]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    client.pipe(target).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test.each([
  ['HTTP', false],
  ['a WebSocket', true],
])(
  'Codex does a task over %s: it thinks, writes a file, runs commands, looks at a picture and sums up',
  async (_, usesWebSocket) => {
    const before = workshop.backend.reported.length
    const repository = await workshop.newRepository()
    await writeFile(join(repository, 'dot.png'), Buffer.from(PNG, 'base64'))
    const key = await workshop.newKey()
    workshop.backend.script = [
      {
        thought: 'The file is missing, so I write it.',
        text: 'I write the greeting.',
        calls: [{ name: 'exec_command', args: { cmd: "printf 'hello\\n' > greeting.txt" } }],
      },
      {
        calls: [
          { name: 'exec_command', args: { cmd: 'cat greeting.txt' } },
          { name: 'view_image', args: { path: 'dot.png' } },
        ],
      },
      {},
      { text: 'greeting.txt says hello.' },
    ]
    const { code, events, err, wire } = await codex(repository, key, 'Write hello into greeting.txt.', usesWebSocket)
    expect([code, err]).toEqual([0, expect.not.stringContaining('ERROR')])
    const ofResponses = wire.filter((line) => line.includes('/v1/responses'))
    expect(new Set(ofResponses)).toEqual(new Set([`${usesWebSocket ? 'GET' : 'POST'} /v1/responses HTTP/1.1`]))
    expect(await readFile(join(repository, 'greeting.txt'), 'utf8')).toBe('hello\n')

    const items = events.flatMap(({ type, item }) => (type === 'item.completed' && item ? [item] : []))
    const textsOf = (kind: string) => items.flatMap(({ type, text }) => (type === kind ? [text] : []))
    expect(textsOf('agent_message')).toEqual(['I write the greeting.', 'greeting.txt says hello.'])
    expect(textsOf('reasoning')).toEqual(['The file is missing, so I write it.'])
    expect(items.flatMap(({ exit_code: exit }) => exit ?? [])).toEqual([0, 0])

    const results = workshop.backend.seen.at(-1)!.body.messages as { role: string; content: unknown }[]
    expect(results.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      expect.any(String),
      expect.stringContaining('hello'),
      expect.stringContaining('next message'),
    ])
    expect(JSON.stringify(results.at(-1))).toContain('data:image/png;base64,')

    const reported = workshop.backend.reported.slice(before)
    const sum = (name: 'prompt_tokens' | 'completion_tokens') =>
      reported.reduce((tokens, turn) => tokens + turn[name], 0)
    expect(reported).toHaveLength(3)
    expect(events.at(-1)).toMatchObject({
      type: 'turn.completed',
      usage: { input_tokens: sum('prompt_tokens'), output_tokens: sum('completion_tokens') },
    })
    await expect
      .poll(() => workshop.usageOf(key))
      .toMatchObject({ requests: 3, total_tokens: sum('prompt_tokens') + sum('completion_tokens') })
  },
)
