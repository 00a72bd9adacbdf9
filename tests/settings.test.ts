/**
 * The effects of a config file on models, as clients meet them: the default model, a model's end, the length of
 * vectors.
 */

import { expect, test } from 'vitest'
import { userMessages, newDeveloper, newGuest } from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const CONFIG = `
extends: default
models:
  - { id: our-chat, type: chat, pool: nova, multiplier: 1, guest: true, default: true, maxOutputTokens: 100 }
  - { id: gone, type: chat, pool: nova, multiplier: 1, replacement: our-chat, sunsetAt: 2026-02-01 }
  - { id: staying, type: chat, pool: nova, multiplier: 1, sunsetAt: 2999-01-01 }
plans:
  - { slug: guest-device, limit: 200000, rpm: 10, tpm: 20000, perDay: 50, guest: true, newDevicesPerHour: 2 }
`

test('a file with `extends: default` adds to the defaults, and its settings hold', async () => {
  await using standalone = await startStandalone({ config: CONFIG })
  const gateway = { urls: [standalone.url] as const, issuer: standalone.issuer }
  const { client } = await newDeveloper(gateway)

  const unnamed = await client.chat.completions.create({ messages: userMessages('Say: it works') } as never)
  expect((unnamed as { model: string }).model).toContain('nova')
  const legacy = await client.chat.completions.create({ model: 'svc-chat-md', messages: userMessages('Say: it works') })
  expect(legacy.choices[0]!.message.content).toBe('it works')

  const listed = (await client.models.list()).data.map(({ id }) => id)
  expect(listed).toEqual(expect.arrayContaining(['our-chat', 'staying', 'svc-ultra']))
  expect(listed).not.toContain('gone')
  const refused = await client.chat.completions
    .create({ model: 'gone', messages: userMessages('Hi') })
    .catch((error) => error)
  expect(refused).toMatchObject({ status: 404 })
  expect(String(refused.message)).toContain('retired on 2026-02-01; use our-chat')

  const tokens = await client.embeddings.create({ model: 'svc-embed', input: [[9906], [9906, 11, 1917]] })
  expect(tokens.data.map(({ embedding }) => embedding.length)).toEqual([768, 768])
  const short = await client.embeddings.create({ model: 'svc-embed', input: 'Hi', dimensions: 256 }).catch((e) => e)
  expect(short).toMatchObject({ status: 400 })
  expect(String(short.message)).toContain('dimensions: must be 768 for svc-embed')

  await newGuest(gateway)
  await newGuest(gateway)
  await expect(newGuest(gateway)).rejects.toThrow()
})
