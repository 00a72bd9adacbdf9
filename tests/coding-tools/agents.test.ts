import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MODEL, openWorkshop, runTool, toolPath, type Workshop } from './workshop.ts'

let workshop: Workshop
beforeAll(async () => {
  workshop = await openWorkshop()
})
afterAll(() => workshop[Symbol.asyncDispose]())

test("OpenAI's Agents SDK runs its tool loop, plain and streamed, and the ledger has the usage that the backend reported", async () => {
  const { backend, url } = workshop
  backend.script = [
    {
      thought: 'I need the weather.',
      text: 'Let me look.',
      calls: [{ name: 'get_weather', args: { city: 'Lisbon' } }],
    },
    { text: 'It is sunny.' },
  ]
  const key = await workshop.newKey()
  // Beside the packages that it imports.
  const script = toolPath('..', 'agents.mjs')
  await copyFile(join(import.meta.dirname, 'agents.mjs'), script)
  const env = { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key, MODEL }
  const { code, out, err } = await runTool(process.execPath, [script], { cwd: await workshop.newHome(), env })
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out)).toEqual({
    plain: 'It is sunny.',
    streamed: 'Let me look.It is sunny.',
    requested: ['Lisbon', 'Lisbon'],
    history: 6,
  })
  const tokens = backend.reported.reduce((sum, turn) => sum + turn.prompt_tokens + turn.completion_tokens, 0)
  expect(backend.reported).toHaveLength(4)
  await expect.poll(() => workshop.usageOf(key)).toMatchObject({ requests: 4, total_tokens: tokens })
})
