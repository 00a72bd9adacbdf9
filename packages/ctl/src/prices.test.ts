/**
 * `prices refresh` in front of a real HTTP server that publishes a list.
 */

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chmod, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { loadConfig } from '@gateway/config/load-config'
import { UsageError } from '@gateway/service/report-fatal'
import { refreshPrices } from './prices.ts'

const stack: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of stack.splice(0)) await close()
})

/** The address of a server that sends this response. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/data.json`
}

const publish = (list: unknown) => serve((_, response) => response.end(JSON.stringify(list)))

/** A model as the authors publish it (`prices/new_data/v2/data.json`, November 2026). */
const model = (id: string, prices: object) => ({ id, match: { equals: id }, prices })
const LIST = [
  {
    id: 'openai',
    name: 'OpenAI',
    api_pattern: 'https://api\\.openai\\.com',
    models: [
      model('gpt-5', { input_mtok: 1, cache_read_mtok: 0.1, output_mtok: 8 }),
      model('gpt-5-mini', { input_mtok: 0.25, cache_read_mtok: 0.025, output_mtok: 2 }),
      model('gpt-6', { input_mtok: 5, output_mtok: 30 }),
    ],
  },
  {
    id: 'google',
    name: 'Google',
    api_pattern: 'https://generativelanguage\\.googleapis\\.com',
    models: [
      model('gemini-2.5-pro', {
        input_mtok: { base: 1.25, tiers: [{ start: 200_000, price: 2.75 }] },
        output_mtok: { base: 10, tiers: [{ start: 200_000, price: 15 }] },
      }),
    ],
  },
]

const FILE = `# Our gateway
extends: default
backends:
  - { id: openai, vendor: openai, url: "https://api.openai.com/v1", apiKey: "\${OPENAI_API_KEY}" } # the team's key
pools:
  - { id: vendors, targets: [{ backend: openai, model: gpt-5 }] }
models:
  # the big one
  - { id: gpt-5, type: chat, pool: vendors, direct: true, ownedBy: openai }
  - { id: gpt-5-mini, type: chat, pool: vendors, direct: true, ownedBy: openai }
  - { id: gemini-2.5-pro, type: chat, pool: vendors, direct: true, ownedBy: google }
  - id: claude-sonnet-4-6
    type: chat
    pool: vendors
    direct: true
    ownedBy: anthropic
    rates: { inputUsdPerMillion: 2.5, outputUsdPerMillion: 12, source: contract 7 }
`

async function configFile(text = FILE): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'prices-'))
  stack.push(() => rm(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  await writeFile(file, text)
  return file
}

describe('the differences', () => {
  test('are shown with the rates of both, and nothing is written', async () => {
    const file = await configFile()
    const { data, text, findsFault } = await refreshPrices(file, { url: await publish(LIST) })
    expect(data).toMatchObject({
      changes: [
        { model: 'gpt-5', rate: 'inputUsdPerMillion', now: '1.25', listed: '1' },
        { model: 'gpt-5', rate: 'outputUsdPerMillion', now: '10', listed: '8' },
        { model: 'gpt-5', rate: 'cachedInputUsdPerMillion', now: '0.125', listed: '0.1' },
        { model: 'gemini-2.5-pro', rate: 'cachedInputUsdPerMillion', now: '0.125', listed: '-' },
        { model: 'gemini-2.5-pro', rate: 'longPrompt.inputUsdPerMillion', now: '2.5', listed: '2.75' },
        { model: 'gemini-2.5-pro', rate: 'longPrompt.cachedInputUsdPerMillion', now: '0.25', listed: '-' },
      ],
      notes: ['claude-sonnet-4-6 keeps its own rates (contract 7)'],
      written: false,
    })
    expect(text).toMatch(/^gpt-5 +inputUsdPerMillion +1\.25 +1$/m)
    expect(text).toContain(`2 models have other rates in the list; --write names them in ${file}`)
    expect(findsFault).toBe(true)
    expect(await readFile(file, 'utf8')).toBe(FILE)
  })

  test('are written on request: the file keeps its comments, and bills by them', async () => {
    const file = await configFile()
    const url = await publish(LIST)
    const { findsFault, text } = await refreshPrices(file, { url, write: true })
    expect(findsFault).toBe(false)
    expect(text).toContain('now names the listed rates of 2 models')
    const written = await readFile(file, 'utf8')
    for (const words of [
      '# Our gateway',
      "# the team's key",
      '# the big one',
      '${OPENAI_API_KEY}',
      'source: contract 7',
    ])
      expect(written).toContain(words)
    const { config } = loadConfig(written, file)
    const ratesOf = (id: string) => config.models.flatMap((one) => ('rates' in one && one.id === id ? [one.rates] : []))
    const today = new Date().toISOString().slice(0, 10)
    const from = { source: '@pydantic/genai-prices, its list of the day', asOf: today }
    expect(ratesOf('gpt-5')).toEqual([
      { inputUsdPerMillion: 1, outputUsdPerMillion: 8, cachedInputUsdPerMillion: 0.1, ...from },
    ])
    expect(ratesOf('claude-sonnet-4-6')).toMatchObject([{ inputUsdPerMillion: 2.5, source: 'contract 7' }])
    // Another run finds nothing, and a later list renews the rates that this one wrote.
    expect(await refreshPrices(file, { url })).toMatchObject({ data: { changes: [] }, findsFault: false })
    const dearer = [{ ...LIST[0], models: [model('gpt-5', { input_mtok: 2, output_mtok: 8 })] }]
    const { data } = await refreshPrices(file, { url: await publish(dearer) })
    expect(data).toMatchObject({
      changes: [
        { model: 'gpt-5', now: '1', listed: '2' },
        { model: 'gpt-5', now: '0.1', listed: '-' },
      ],
    })
  })

  test('let a model be served that the installed list does not know', async () => {
    const file = await configFile(FILE.replace('id: gpt-5,', 'id: gpt-6,'))
    expect(() => loadConfig(FILE.replace('id: gpt-5,', 'id: gpt-6,'), file)).toThrow()
    await refreshPrices(file, { url: await publish(LIST), write: true })
    const { config } = loadConfig(await readFile(file, 'utf8'), file)
    expect(config.models).toContainEqual(
      expect.objectContaining({ id: 'gpt-6', rates: expect.objectContaining({ inputUsdPerMillion: 5 }) }),
    )
  })

  test('a file that its owner alone may read stays so, and a link stays a link', async () => {
    const file = await configFile()
    await chmod(file, 0o600)
    const link = `${file}.link`
    await symlink(file, link)
    // Of a run that was cut off.
    await writeFile(`${file}.new`, 'half', { mode: 0o644 })
    await refreshPrices(link, { url: await publish(LIST), write: true })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readlink(link)).toBe(file)
    expect(await readFile(file, 'utf8')).toContain('inputUsdPerMillion: 1,')
    await expect(stat(`${file}.new`)).rejects.toThrow('ENOENT')
  })

  test('are never written into a file that could not be used then', async () => {
    const broken = FILE.replace(
      'pool: vendors, direct: true, ownedBy: google',
      'pool: nowhere, direct: true, ownedBy: google',
    )
    const file = await configFile(broken)
    await expect(refreshPrices(file, { url: await publish(LIST), write: true })).rejects.toThrow('left as it is')
    expect(await readFile(file, 'utf8')).toBe(broken)
  })
})

describe('a list that is not to be had', () => {
  test.each<[string, RequestListener, string]>([
    ['an error', (_, response) => response.writeHead(503).end(), 'status 503'],
    ['a page', (_, response) => response.end('<html>Sign in</html>'), 'is not valid JSON'],
    ['something else', (_, response) => response.end('{"models":[]}'), 'is no list of vendors'],
    ['half an answer', (_, response) => response.write('[', () => response.destroy()), 'terminated'],
  ])('%s: the command says so, and names the next step', async (_, listener, words) => {
    const file = await configFile()
    const refused = refreshPrices(file, { url: await serve(listener), write: true })
    await expect(refused).rejects.toThrow(UsageError)
    await expect(refused).rejects.toThrow(words)
    await expect(refused).rejects.toThrow(
      'Nothing was changed. Try again with a network, or name a copy of the list by --url',
    )
    expect(await readFile(file, 'utf8')).toBe(FILE)
  })

  test('no network', async () => {
    await expect(refreshPrices(await configFile(), { url: 'http://127.0.0.1:1/' })).rejects.toThrow(
      /price list at http:\/\/127\.0\.0\.1:1\/ cannot be had: .+ Try again with a network/,
    )
  })

  test('an entry that cannot be read', async () => {
    const list = [{ id: 'openai', models: [model('gpt-5', [{ constraint: { start_date: 'soon' }, prices: {} }])] }]
    await expect(refreshPrices(await configFile(), { url: await publish(list) })).rejects.toThrow(
      "the list's entry of openai cannot be read",
    )
  })
})

test('a model without exact rates in the list is named, and stays', async () => {
  const list = [{ id: 'openai', models: [model('gpt-5', { requests_kcount: 5 })] }]
  const { data } = await refreshPrices(await configFile(), { url: await publish(list) })
  expect(data).toMatchObject({
    changes: [],
    notes: [
      'gpt-5: the list has no exact rates of openai for it',
      'gpt-5-mini: the list has no exact rates of openai for it',
      'gemini-2.5-pro: the list has no exact rates of google for it',
      'claude-sonnet-4-6 keeps its own rates (contract 7)',
    ],
  })
})
