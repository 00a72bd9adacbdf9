/**
 * Each example config runs in front of a server that speaks the OpenAI dialect, with nothing changed but the address.
 * Its models respond through the gateway, and the server sees its own model names and its own credential. One gateway
 * takes one example after the other, as it takes any change of its file.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { loadConfig } from '@gateway/config/load-config'
import { startBackend } from '@gateway/stand-ins/backend'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { userMessages, newDeveloper, newGuest } from './promises/gateway.ts'
import { type Standalone, startStandalone } from './promises/standalone.ts'

const FOLDER = 'deploy/config/examples/'
const CREDENTIAL = 'sk-the-credential-of-the-backend'
const TAKEN_UP = { timeout: 60_000, interval: 50 }
const namesModels = (text: string): boolean => /^models:/m.test(text)
const examples = readdirSync(FOLDER)
  .map((name) => ({ name, text: readFileSync(FOLDER + name, 'utf8') }))
  // Those that a bearer key, or none, opens; services/router/test/vendors has the others.
  .filter(({ text }) => !/vendor: (?:anthropic|azure|vertex|bedrock)/.test(text))
  // A running gateway refuses a file that has lost a section.
  .toSorted((a, b) => Number(namesModels(a.text)) - Number(namesModels(b.text)))

let standalone: Standalone
beforeAll(async () => {
  const names = examples.flatMap(({ text }) => Array.from(text.matchAll(/\$\{(\w+)\}/g), ([, name]) => name!))
  const secrets = Object.fromEntries(names.map((name) => [name, CREDENTIAL]))
  standalone = await startStandalone({ config: examples[0]!.text, environment: { LOG_LEVEL: 'info', ...secrets } })
})
afterAll(() => standalone?.[Symbol.asyncDispose]())

describe.each(examples)('deploy/config/examples/$name', ({ name, text }) => {
  const { backends, pools, models } = loadConfig(text, name).config
  const hasCredential = backends.some(({ apiKey }) => apiKey !== undefined)

  test('its chat and embeddings models respond through the gateway', async () => {
    await using backend = await startBackend({
      models: pools.flatMap(({ targets }) => targets.map(({ model }) => model)),
      ...(hasCredential ? { apiKey: CREDENTIAL } : {}),
    })
    const onBackend = text.replaceAll(/^( +url: ).*$/gm, `$1${backend.url}`)
    await writeFile(standalone.configPath, onBackend)
    const { revision } = loadConfig(onBackend, name).config
    await expect.poll(() => standalone.output, TAKEN_UP).toContain(revision)
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
        const reply = await by.chat.completions.create({ model: model.id, messages: userMessages('Say: it works') })
        expect(reply.choices[0]!.message.content).toBe('it works')
        expect(backend.calls.at(-1)!.body).toMatchObject({ model: reply.model })
      }
    }
    expect(backend.calls.map(({ status }) => status)).toEqual(served.map(() => 200))
    expect(standalone.output).not.toContain(CREDENTIAL)
  })
})
