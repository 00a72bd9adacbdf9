/**
 * Each example config in front of a server that speaks the OpenAI dialect: with nothing changed but the address, its
 * models answer through the gateway, and the server sees its own model names and its own credential.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { loadConfig } from '@gateway/config/load-config'
import { startBackend } from '@gateway/stand-ins/backend'
import { describe, expect, test } from 'vitest'
import { ask, newDeveloper, newGuest } from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const FOLDER = 'deploy/config/examples/'
const CREDENTIAL = 'sk-the-credential-of-the-backend'
const examples = readdirSync(FOLDER)
  .map((name) => ({ name, text: readFileSync(FOLDER + name, 'utf8') }))
  // Those that a bearer key, or none, opens; services/router/test/vendors has the others.
  .filter(({ text }) => !/vendor: (?:anthropic|azure|vertex|bedrock)/.test(text))

describe.each(examples)('deploy/config/examples/$name', ({ name, text }) => {
  const { backends, pools, models } = loadConfig(text, name).config
  const hasCredential = backends.some(({ apiKey }) => apiKey !== undefined)

  test('its chat and embeddings models answer through the gateway', async () => {
    await using backend = await startBackend({
      models: pools.flatMap(({ targets }) => targets.map(({ model }) => model)),
      ...(hasCredential ? { apiKey: CREDENTIAL } : {}),
    })
    const variables = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, variable]) => [variable!, CREDENTIAL])
    await using standalone = await startStandalone({
      config: text.replaceAll(/^( +url: ).*$/gm, `$1${backend.url}`),
      environment: Object.fromEntries(variables) as Record<string, string>,
    })
    const gateway = { urls: [standalone.url] as const, issuer: standalone.issuer }

    const guest = await newGuest(gateway)
    const { client } = await newDeveloper(gateway)
    const served = models.filter((model) => model.availability === 'all' && !('direct' in model && model.direct))
    for (const model of served) {
      if (model.type === 'embeddings') {
        const { data } = await client.embeddings.create({ model: model.id, input: 'some text' })
        expect(data[0]!.embedding).toHaveLength(768)
      } else {
        const by = model.guest ? guest.client : client
        const answer = await by.chat.completions.create({ model: model.id, messages: ask('Say: it works') })
        expect(answer.choices[0]!.message.content).toBe('it works')
        expect(backend.calls.at(-1)!.body).toMatchObject({ model: answer.model })
      }
    }
    expect(backend.calls.map(({ status }) => status)).toEqual(served.map(() => 200))
    expect(standalone.output).not.toContain(CREDENTIAL)
  })
})
