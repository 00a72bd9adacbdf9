import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MODEL, openWorkshop, runTool, type Workshop } from './workshop.ts'

let workshop: Workshop
beforeAll(async () => {
  workshop = await openWorkshop()
})
afterAll(() => workshop[Symbol.asyncDispose]())

const SUMMARY = 'Ship on Tuesday; support hears of it first.'

test('OpenAI’s client for Python compacts a conversation by both ways, and goes on with the summary', async () => {
  const { backend, url } = workshop
  backend.script = [{ text: SUMMARY }]
  const key = await workshop.newKey()
  const script = join(import.meta.dirname, 'openai_sdk.py')
  // The client warns of the user's messages that a compaction keeps: its types know those of the model alone.
  const warnings = 'ignore:Pydantic serializer warnings'
  const env = { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key, MODEL, PYTHONWARNINGS: warnings }
  const { code, out, err } = await runTool(process.env['CODING_TOOLS_PYTHON']!, [script], {
    cwd: await workshop.newHome(),
    env,
  })
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out)).toEqual({
    kinds: ['message', 'compaction'],
    usage: 110,
    after: SUMMARY,
    triggered: ['compaction'],
    again: SUMMARY,
  })
  const sent = backend.seen.map(({ text }) => text)
  expect(sent).toHaveLength(4)
  for (const next of [sent[1]!, sent[3]!]) {
    expect(next.split(SUMMARY)).toHaveLength(2)
    expect(next).toContain('And the docs?')
    expect(next).not.toMatch(/svc\d\./)
  }
  const tokens = backend.reported.reduce((sum, turn) => sum + turn.prompt_tokens + turn.completion_tokens, 0)
  await expect.poll(() => workshop.usageOf(key)).toMatchObject({ requests: 4, total_tokens: tokens })
})
