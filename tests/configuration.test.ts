/**
 * The config file as an operator meets it: changed while the gateway runs, and broken.
 */

import { writeFile } from 'node:fs/promises'
import { startBackend } from '@gateway/stand-ins/backend'
import { expect, test } from 'vitest'
import { userMessages, newDeveloper, send } from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const configWith = (url: string, model: string) => `
backends:
  - { id: one, url: "${url}" }
pools:
  - { id: only, targets: [{ backend: one, model: ${model} }] }
models:
  - { id: svc-instant, type: chat, pool: only, multiplier: 1, guest: true, maxOutputTokens: 4096 }
  - { id: svc-chat-md, type: chat, pool: only, replacement: svc-instant, guest: true, maxOutputTokens: 4096 }
`

test('a change of the file takes effect while requests run, and a broken one changes nothing', async () => {
  await using backend = await startBackend({ tokensPerSecond: 50 })
  await using standalone = await startStandalone({ config: configWith(backend.url, 'before') })
  const gateway = { urls: [standalone.url] as const, issuer: standalone.issuer }
  const { client } = await newDeveloper(gateway)
  const served = async () =>
    (await client.chat.completions.create({ model: 'svc-instant', messages: userMessages('Say: hi') })).model
  expect(await served()).toBe('before')

  const request = { model: 'svc-instant', messages: userMessages('100 words'), stream: true as const }
  const stream = await client.chat.completions.create(request)
  await writeFile(standalone.configPath, configWith(backend.url, 'after'))
  await expect.poll(served).toBe('after')
  let finish: string | null = null
  for await (const chunk of stream) {
    expect(chunk.model).toBe('before')
    finish = chunk.choices[0]?.finish_reason ?? finish
  }
  expect(finish).toBe('stop')

  await writeFile(
    standalone.configPath,
    configWith(backend.url, 'broken').replace('pool: only, multiplier', 'pool: none, multiplier'),
  )
  await expect.poll(() => standalone.output).toContain('models[0].pool')
  expect(await served()).toBe('after')
  expect(await send(standalone.url, '/v1/models')).toMatchObject({ status: 200 })

  await writeFile(standalone.configPath, configWith('${NOT_SET}', 'broken').replaceAll('svc-instant', 'renamed'))
  await expect.poll(() => standalone.output).toContain('NOT_SET is not set')
  expect(await served()).toBe('after')
  await writeFile(standalone.configPath, 'backends: *nothing\n')
  await expect.poll(() => standalone.output).toContain('Unresolved alias')
  expect(await served()).toBe('after')
})

test('a broken file is refused at the start, with its line and field', async () => {
  const broken = configWith('http://127.0.0.1:9/v1', 'any').replace('multiplier: 1', 'multiplier: lots')
  await expect(startStandalone({ config: broken })).rejects.toThrow(
    /7.*models\[0\]\.multiplier|models\[0\]\.multiplier.*7/s,
  )
})
