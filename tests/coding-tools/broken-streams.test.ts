/**
 * A backend dies behind its first content, when no other target can take over. Each agent gets an error event in its own dialect, so it
 * sends the request again or reports the failure. The ledger has the broken response once, with the tokens that were shown.
 */

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Ran, MODEL, openWorkshop, runTool, toolPath, type Workshop } from './workshop.ts'

let workshop: Workshop
let key: string
beforeAll(async () => {
  workshop = await openWorkshop()
})
afterAll(() => workshop[Symbol.asyncDispose]())
beforeEach(async () => {
  const { backend } = workshop
  Object.assign(backend, { cuts: 1, script: [{ text: 'The task is done, as you wished.' }] })
  backend.reported.length = 0
  backend.seen.length = 0
  key = await workshop.newKey()
})

/** The backend's own figures for whole responses; the broken one has at least its prompt and a token. */
async function expectLedger(): Promise<void> {
  const { backend } = workshop
  const tokens = backend.reported.reduce((sum, turn) => sum + turn.prompt_tokens + turn.completion_tokens, 0)
  expect(backend.cuts).toBe(0)
  expect(backend.seen).toHaveLength(backend.reported.length + 1)
  await expect.poll(async () => (await workshop.usageOf(key)).requests).toBe(backend.seen.length)
  expect((await workshop.usageOf(key)).total_tokens).toBeGreaterThan(tokens + 1)
}

const TASK = 'Do the task.'
const DONE = /The task is done, as you wished\./

async function claude(): Promise<Ran> {
  const env = {
    HOME: await workshop.newHome(),
    ANTHROPIC_BASE_URL: workshop.url,
    ANTHROPIC_API_KEY: key,
    ANTHROPIC_MODEL: MODEL,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
  }
  const program = toolPath('@anthropic-ai/claude-code/cli-wrapper.cjs')
  return runTool(process.execPath, [program, '-p', TASK], { cwd: await workshop.newRepository(), env })
}

async function codex(usesWebSocket: boolean): Promise<Ran> {
  const home = await workshop.newHome()
  const provider = [
    `name="gateway"`,
    `base_url="${workshop.url}/v1"`,
    `env_key="GATEWAY_KEY"`,
    `wire_api="responses"`,
    `supports_websockets=${usesWebSocket}`,
  ]
  const settings = ['-c', 'model_provider=gateway', '-c', `model_providers.gateway={${provider.join(',')}}`]
  const options = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-m', MODEL]
  const program = toolPath('@openai/codex/bin/codex.js')
  return runTool(process.execPath, [program, 'exec', ...options, ...settings, TASK], {
    cwd: await workshop.newRepository(),
    env: { CODEX_HOME: home, HOME: home, GATEWAY_KEY: key },
  })
}

test.each([
  ['Claude Code', claude],
  ['Codex over HTTP', () => codex(false)],
  ['Codex over a WebSocket', () => codex(true)],
])('%s sends the request again, and ends its task', async (_name, run) => {
  const { code, out, err } = await run()
  expect([code, out, err]).toEqual([0, expect.stringMatching(DONE), expect.anything()])
  await expectLedger()
})

test("OpenAI's Agents SDK says that the response failed, and the next run does the task", async () => {
  const script = toolPath('..', 'stream.mjs')
  await copyFile(join(import.meta.dirname, 'stream.mjs'), script)
  const env = { OPENAI_BASE_URL: `${workshop.url}/v1`, OPENAI_API_KEY: key, MODEL }
  const { code, out, err } = await runTool(process.execPath, [script], { cwd: await workshop.newHome(), env })
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out)).toEqual({
    first: expect.stringMatching(/^ModelBehaviorError: .*response\.failed/) as string,
    second: expect.stringMatching(DONE) as string,
  })
  await expectLedger()
})
