/** The program of `npm start`, in front of one simulated backend for each dialect of a target. */

import { randomUUID } from 'node:crypto'
import { startBackend } from '@gateway/stand-ins/backend'
import { signIn } from '@gateway/stand-ins/sign-in'
import { startStandalone } from '../../../tests/promises/standalone.ts'

/** The gateway's models, each with one target. */
export const TARGETS = [
  { model: 'at-chat', title: 'chat target', speaks: {} },
  { model: 'at-messages', title: 'Messages target', speaks: { dialect: 'anthropic' } },
  { model: 'at-responses', title: 'native target', speaks: { dialects: ['responses'] } },
  { model: 'at-older', title: 'native target without newer members', speaks: { dialects: ['responses'] } },
]

export interface ProvenGateway extends AsyncDisposable {
  readonly url: string
  readonly key: string
}

export async function openGateway(): Promise<ProvenGateway> {
  await using opening = new AsyncDisposableStack()
  const backend = opening.use(await startBackend({ dialects: ['messages', 'responses'] }))
  const older = opening.use(await startBackend({ dialects: ['older-responses'] }))
  const gateway = opening.use(await startStandalone({ config: configOver(backend.url, older.url) }))
  const key = await mintKey(gateway.url, gateway.issuer)
  const opened = opening.move()
  return { url: gateway.url, key, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function configOver(url: string, olderUrl: string): object {
  return {
    backends: TARGETS.map(({ model, speaks }) => ({
      id: model,
      url: model === 'at-older' ? olderUrl : url,
      capabilities: ['chat', 'tools', 'vision'],
      ...speaks,
    })),
    pools: TARGETS.map(({ model }) => ({ id: model, targets: [{ backend: model, model: 'simulated' }] })),
    models: TARGETS.map(({ model }) => ({
      id: model,
      type: 'chat',
      pool: model,
      multiplier: 1,
      maxOutputTokens: 4_096,
    })),
    plans: [
      { slug: 'guest-device', limit: 1e9, rpm: 1_000, tpm: 1e9, perDay: 1_000, guest: true },
      { slug: 'team', limit: 1e9, rpm: 10_000, tpm: 1e9, default: true },
    ],
  }
}

async function mintKey(url: string, issuer: string): Promise<string> {
  const token = await signIn(issuer, { name: `dev-${randomUUID()}`, redirectUri: `${url}/console` })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/keys/developer`, { method: 'POST', headers, body: '{}' })
  if (!response.ok) throw new Error(`no key was minted: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { key: string }).key
}
