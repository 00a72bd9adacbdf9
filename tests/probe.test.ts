/**
 * `npm run ctl -- backends probe`, as an operator uses it, in front of servers that hold to the vendors' publications.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '@gateway/config/load-config'
import { startBackend } from '@gateway/stand-ins/backend'
import { startHttpBackend } from '../services/router/test/http-backend.ts'
import { STRICT_SERVERS } from '../services/router/test/strict-servers.ts'
import { runCtl } from './promises/run-ctl.ts'

interface Finding {
  check: string
  result: string
}

interface Facts {
  config: string | null
  models: { model: { id: string }; findings: Finding[] }[]
}

const cases = Object.entries(STRICT_SERVERS).flatMap(([server, strict]) =>
  strict.models.map((model) => ({ server, model, strict })),
)

describe('backends probe', () => {
  test.for(cases)('finds each parameter that $server refuses as $model', async ({ model, strict }) => {
    await using backend = await startHttpBackend(strict.reply)
    const { facts } = await ctl(['backends', 'probe', '--url', backend.url, '--model', model])
    const results = new Map(facts.models[0]!.findings.map(({ check, result }) => [check, result]))
    const mayDrop = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'parallel_tool_calls', 'seed']
    const refused = mayDrop.filter((name) => results.get(name) === 'no')
    expect(refused).toEqual(strict.drops(model).filter((name) => mayDrop.includes(name)))
    expect(results.get('stop')).toBe(strict.refuses.includes('stop') ? 'no' : 'yes')
    expect(results.get(strict.capName)).not.toBe('no')
    expect(results.get('chat')).toBe('yes')
    expect(results.get('stream')).toBe('yes')
  })

  test('prints a table, and config lines that the gateway takes', async () => {
    await using backend = await startBackend({ models: ['small:4b', 'large:70b'] })
    const { out, err, code } = await runCtl(['backends', 'probe', '--url', backend.url], {})
    expect(code).toBe(0)
    expect(err).toMatch(/small:4b, large:70b: at most \d+ requests, \d+ prompt tokens and \d+ completion tokens/)
    expect(out).toMatch(/^check +result +seen$/m)
    expect(out).toMatch(/^tools +yes/m)
    const config = /backends:[^]*/.exec(out)![0]
    const { backends, models } = loadConfig(config, 'printed').config
    expect(backends.map(({ url }) => url)).toEqual([backend.url])
    expect(models.map(({ id }) => id)).toContain('svc-instant')
  })

  test('prints the cost and sends no request on a dry run', async () => {
    await using backend = await startBackend({ models: ['m'] })
    const { err, code } = await runCtl(['backends', 'probe', '--url', backend.url, '--dry-run'], {})
    expect(code).toBe(0)
    expect(err).toContain('at most')
    expect(backend.calls).toEqual([])
  })

  test('takes address, key and models of a backend from the config file', async () => {
    const key = 'sk-the-credential-of-the-backend'
    await using backend = await startBackend({ apiKey: key, models: ['m'] })
    const folder = await mkdtemp(join(tmpdir(), 'gateway-probe-'))
    const file = join(folder, 'gateway.yaml')
    const ours = { id: 'ours', url: backend.url, apiKey: '${OUR_KEY}' }
    const pools = [{ id: 'spark', targets: [{ backend: 'ours', model: 'm' }] }]
    await writeFile(file, JSON.stringify({ backends: [ours], pools }))
    const environment = { GATEWAY_CONFIG: file, OUR_KEY: key }
    const { facts, code } = await ctl(['backends', 'probe', 'ours'], environment)
    expect(code).toBe(0)
    expect(facts.models.map(({ model }) => model.id)).toEqual(['m'])
    expect(JSON.stringify(facts)).not.toContain(key)
    const unknown = await runCtl(['backends', 'probe', 'theirs'], environment)
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('has no backend theirs; it has ours') })
    await rm(folder, { recursive: true })
  })

  test('reports in words a server that is not there', async () => {
    const { code, err } = await runCtl(['backends', 'probe', '--url', 'http://127.0.0.1:9/v1'], {})
    expect(code).toBe(1)
    expect(err).toContain('http://127.0.0.1:9/v1 lists no model to probe')
  })
})

async function ctl(args: string[], environment: Record<string, string> = {}) {
  const { code, out, err } = await runCtl(['--json', ...args], environment)
  if (out === '') throw new Error(err)
  return { code, facts: JSON.parse(out) as Facts }
}
