/**
 * `npm start -- --backend <address>`: one command puts a server's models behind the lanes. `npm start` also names the
 * servers and keys that it finds.
 */

import { readFile } from 'node:fs/promises'
import { startBackend } from '@gateway/stand-ins/backend'
import { describe, expect, test } from 'vitest'
import { userMessages, newDeveloper, newGuest } from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const KEY = 'sk-the-credential-of-the-backend'

describe('npm start --backend', () => {
  test("puts a server's models behind the lanes, prints which, and keeps its key out of the file", async () => {
    await using backend = await startBackend({ models: ['small:4b', 'big:70b', 'some-embed-text'], apiKey: KEY })
    await using gateway = await startStandalone({
      args: ['--backend', backend.url],
      environment: { BACKEND_API_KEY: KEY },
    })
    expect(gateway.output).toMatch(/^ +svc-instant +small:4b$/m)
    expect(gateway.output).toMatch(/^ +svc-max +big:70b$/m)
    expect(gateway.output).toMatch(/^ +svc-embed +some-embed-text$/m)
    expect(gateway.output).toMatch(/^ +not served: svc-vision, svc-image$/m)
    const [, path] = /configuration +(\S+)/.exec(gateway.output)!
    expect(await readFile(path!, 'utf8')).not.toContain(KEY)
    expect(gateway.output).not.toContain(KEY)

    const address = { urls: [gateway.url] as const, issuer: gateway.issuer }
    const guest = await newGuest(address)
    const { choices } = await guest.client.chat.completions.create({
      model: 'svc-instant',
      messages: userMessages('Say: it works'),
    })
    expect(choices[0]!.message.content).toBe('it works')
    expect(backend.calls.at(-1)!.body).toMatchObject({ model: 'small:4b' })
    const { client } = await newDeveloper(address)
    const { data } = await client.embeddings.create({ model: 'svc-embed', input: 'some text' })
    expect(data[0]!.embedding).toHaveLength(768)
  })

  test.each([
    ['a server that is not there', 'http://127.0.0.1:9/v1', {}, 'cannot be used'],
    [
      'a config file besides',
      'http://127.0.0.1:9/v1',
      { GATEWAY_CONFIG: 'gateway.yaml' },
      'unset it, or leave --backend out',
    ],
  ])('%s is explained in words', async (_, url, environment, words) => {
    await expect(startStandalone({ args: ['--backend', url], environment })).rejects.toThrow(words)
  })

  test('a server that refuses the key is reported in its own words', async () => {
    await using backend = await startBackend({ models: ['m'], apiKey: KEY })
    await expect(startStandalone({ args: ['--backend', backend.url] })).rejects.toThrow(/m did not respond \(401: .*\)/)
  })
})

test('npm start names a key that it finds, with the command that would use it, and does not use it', async () => {
  await using gateway = await startStandalone({ environment: { OPENAI_API_KEY: KEY } })
  await expect
    .poll(() => gateway.output)
    .toContain('BACKEND_API_KEY=$OPENAI_API_KEY npm start -- --backend https://api.openai.com/v1')
  expect(gateway.output).not.toContain(KEY)
  expect(gateway.output).toContain('every model on a simulated backend')
})
