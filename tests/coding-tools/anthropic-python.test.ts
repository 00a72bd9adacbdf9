import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MODEL, openWorkshop, runTool, type Workshop } from './workshop.ts'

let workshop: Workshop
beforeAll(async () => {
  workshop = await openWorkshop()
})
afterAll(() => workshop[Symbol.asyncDispose]())

/** Returns all that Anthropic's client for Python prints about its responses, and expects their usage in the ledger. */
async function sendRequest(what: 'image' | 'thinking') {
  const key = await workshop.newKey()
  const script = join(import.meta.dirname, 'anthropic_sdk.py')
  const env = { ANTHROPIC_BASE_URL: workshop.url, ANTHROPIC_API_KEY: key, MODEL, REQUEST: what }
  const before = workshop.backend.reported.length
  const { code, out, err } = await runTool(process.env['CODING_TOOLS_PYTHON']!, [script], {
    cwd: await workshop.newHome(),
    env,
  })
  expect([code, err]).toEqual([0, ''])
  const reported = workshop.backend.reported.slice(before)
  const tokens = reported.reduce((sum, turn) => sum + turn.prompt_tokens + turn.completion_tokens, 0)
  await expect.poll(() => workshop.usageOf(key)).toMatchObject({ requests: reported.length, total_tokens: tokens })
  return JSON.parse(out) as unknown
}

test('Anthropic’s client for Python sends a question about an image', async () => {
  workshop.backend.script = [{ text: 'A pixel.' }]
  expect(await sendRequest('image')).toEqual({ text: 'A pixel.', input_tokens: 100 })
  const [{ content }] = workshop.backend.seen.at(-1)!.body['messages'] as [{ content: object[] }]
  expect(content).toEqual([
    { type: 'image_url', image_url: { url: expect.stringMatching(/^data:image\/png;base64,iVBORw0/) as string } },
    { type: 'text', text: 'What is it?' },
  ])
})

test('Anthropic’s client for Python reads thoughts, streamed and plain, and sends them back', async () => {
  const [thought, text] = ['One by one.', 'It is.']
  workshop.backend.script = [{ thought, text }]
  const blocks = [
    { type: 'thinking', thinking: thought, signature: expect.stringMatching(/./) as string },
    { type: 'text', text },
  ]
  expect(await sendRequest('thinking')).toEqual({
    deltas: ['thinking_delta', 'thinking_delta', 'signature_delta', 'text_delta', 'text_delta'],
    streamed: blocks,
    plain: blocks,
  })
  for (const { body } of workshop.backend.seen.slice(-2)) expect(body['reasoning_effort']).toBe('medium')
  expect(workshop.backend.seen.at(-1)!.body['messages']).toEqual([
    { role: 'user', content: 'Is it a pixel?' },
    { role: 'assistant', content: text, reasoning_content: thought },
    { role: 'user', content: 'Sure?' },
  ])
})
