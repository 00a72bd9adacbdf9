/**
 * `backends probe` in front of llama.cpp: its findings are true.
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { loadConfig } from '@gateway/config/load-config'
import { note } from './evidence.ts'
import { CONTEXT_TOKENS, MODEL, startLlama } from './llama-server.ts'

interface Facts {
  kind: string
  config: string
  models: { findings: { check: string; result: string }[] }[]
}

test('the probe finds out the abilities and limits of llama.cpp, and the config lines fit', async () => {
  await using llama = await startLlama({ slots: 2 })
  const args = ['packages/ctl/src/main.ts', '--json', 'backends', 'probe', '--url', llama.url]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1_000_000 })
  const { kind, config, models } = JSON.parse(stdout) as Facts
  const { findings } = models[0]!
  note({ findings: findings.map(({ check, result }) => ({ server: 'llama.cpp', check, result })) })
  expect(kind).toBe('llama.cpp')
  expect(Object.fromEntries(findings.map(({ check, result }) => [check, result]))).toMatchObject({
    chat: 'yes',
    max_tokens: 'yes',
    max_completion_tokens: 'yes',
    stream: 'yes',
    'usage in streams': 'yes',
    tools: 'yes',
    'JSON schema': 'yes',
    vision: 'no',
    logprobs: 'yes',
    n: 'yes',
    'stops when the client leaves': 'yes',
    'refuses a bad key': 'no',
  })
  const { backends, pools } = loadConfig(config, 'printed').config
  expect(backends).toMatchObject([
    { vendor: 'llama.cpp', url: llama.url, capabilities: ['chat', 'tools'], maxConcurrent: 2 },
  ])
  for (const { targets } of pools) expect(targets).toMatchObject([{ model: MODEL, contextWindow: CONTEXT_TOKENS }])
}, 900_000)
