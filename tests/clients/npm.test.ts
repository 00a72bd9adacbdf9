/**
 * A person reads these texts in clients of npm when a request fails. They are word for word the gateway's own.
 */

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { npmPackages } from '../../scripts/npm-packages.ts'
import { BAD_KEY, type Failure, FAILURES, INVALID_KEY, openStage, shownBy, type Stage } from './stage.ts'

/** All of November 2026. */
const AI_SDK = {
  'ai-5': 'npm:ai@5.0.277',
  'compatible-5': 'npm:@ai-sdk/openai-compatible@1.0.61',
  'ai-6': 'npm:ai@6.0.326',
  'compatible-6': 'npm:@ai-sdk/openai-compatible@2.0.92',
  'ai-7': 'npm:ai@7.0.173',
  'compatible-7': 'npm:@ai-sdk/openai-compatible@3.0.92',
  zod: '4.6.7',
}
const SCRIPT = 'ai-sdk.mjs'
const failures = Object.entries(FAILURES) as [Failure, RegExp][]

let stage: Stage
let folder: string
beforeAll(async () => {
  stage = await openStage()
  folder = await npmPackages({ folder: 'clients-ai-sdk-2026-11', packages: AI_SDK, notice: 'installing the AI SDKs' })
  await copyFile(join(import.meta.dirname, SCRIPT), join(folder, SCRIPT))
})
afterAll(() => stage[Symbol.asyncDispose]())

describe.each(['5', '6', '7'])('Vercel’s AI SDK %s shows the sentence', (version) => {
  const command = () => [process.execPath, join(folder, SCRIPT), version] as const

  test.each(failures)('of %s', async (model, sentence) => {
    expect(await shownBy(command(), stage.gateway, model)).toMatch(sentence)
  })

  test('of a key that is unknown', async () => {
    expect(await shownBy(command(), { ...stage.gateway, key: BAD_KEY, url: stage.gateway.url }, 'too-long')).toMatch(
      INVALID_KEY,
    )
  })
})

describe('OpenAI’s client for Node shows the sentence, the code and the type', () => {
  const sendRequest = async (model: string, apiKey = stage.gateway.key) => {
    const client = new OpenAI({ baseURL: `${stage.gateway.url}/v1`, apiKey, maxRetries: 0 })
    const requested = client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] })
    return requested.then(
      () => null,
      (error: unknown) => error as InstanceType<typeof OpenAI.APIError>,
    )
  }
  const CODES: Record<Failure, string> = {
    'no-such-model': 'MODEL_NOT_FOUND',
    'not-for-chat': 'VALIDATION_ERROR',
    'always-down': 'UPSTREAMS_EXHAUSTED',
    'too-long': 'context_length_exceeded',
    filtered: 'content_filter',
  }

  test.each(failures)('of %s', async (model, sentence) => {
    const error = await sendRequest(model)
    expect(error).toMatchObject({ code: CODES[model], type: expect.stringMatching(/_error$/) as string })
    expect(error!.message).toMatch(sentence)
  })

  test('of a key that is unknown', async () => {
    expect(await sendRequest('too-long', BAD_KEY)).toMatchObject({
      status: 401,
      code: 'INVALID_KEY',
      message: '401 Invalid key',
    })
  })
})

describe('Anthropic’s client for Node shows the sentence, by which Claude Code knows an overflow', () => {
  const sendRequest = async (model: string, apiKey = stage.gateway.key) => {
    const client = new Anthropic({ baseURL: stage.gateway.url, apiKey, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    return client.messages.create({ model, max_tokens: 10, messages }).then(
      () => null,
      (error: unknown) => error as InstanceType<typeof Anthropic.APIError>,
    )
  }

  test.each(failures.filter(([model]) => model !== 'too-long'))('of %s', async (model, sentence) => {
    expect((await sendRequest(model))!.message).toMatch(sentence)
  })

  test('of a prompt that is too long, with the numbers', async () => {
    expect((await sendRequest('too-long'))!.message).toContain('prompt is too long: 1500 tokens > 1000 maximum')
  })

  test('of a key that is unknown', async () => {
    expect(await sendRequest('too-long', BAD_KEY)).toMatchObject({ status: 401, type: 'authentication_error' })
  })
})
