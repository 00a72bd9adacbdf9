/**
 * Claude Code as npm ships it. Nothing in it is ours but the address, the key and the model.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MODEL, openWorkshop, runTool, toolPath, type Workshop } from './workshop.ts'

let workshop: Workshop
beforeAll(async () => {
  workshop = await openWorkshop()
})
afterAll(() => workshop[Symbol.asyncDispose]())

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function claude(repository: string, key: string, task: string) {
  const options = ['--output-format', 'json', '--allowedTools', 'Write,Read,Bash']
  const { code, out, err } = await runTool(
    process.execPath,
    [toolPath('@anthropic-ai/claude-code/cli-wrapper.cjs'), '-p', task, ...options],
    {
      cwd: repository,
      env: {
        HOME: await workshop.newHome(),
        ANTHROPIC_BASE_URL: workshop.url,
        ANTHROPIC_API_KEY: key,
        ANTHROPIC_MODEL: MODEL,
        // It speaks to nobody but the gateway: no updates, telemetry or reports.
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
        DISABLE_ERROR_REPORTING: '1',
      },
    },
  )
  if (code !== 0) throw new Error(`Claude Code ended with ${code}:\n${out}\n${err}`)
  return JSON.parse(out) as {
    result: string
    is_error: boolean
    usage: { input_tokens: number; output_tokens: number }
  }
}

test('Claude Code does a task in a repository: it writes a file, runs a command, looks at a picture and sums up', async () => {
  const repository = await workshop.newRepository()
  await writeFile(join(repository, 'dot.png'), Buffer.from(PNG, 'base64'))
  const key = await workshop.newKey()
  const { backend } = workshop
  backend.script = [
    {
      thought: 'The file is missing, so I write it.',
      text: 'I write the greeting.',
      calls: [{ name: 'Write', args: { file_path: join(repository, 'greeting.txt'), content: 'hello\n' } }],
    },
    {
      calls: [
        { name: 'Bash', args: { command: 'cat greeting.txt', description: 'Show the greeting' } },
        { name: 'Read', args: { file_path: join(repository, 'dot.png') } },
      ],
    },
    {},
    { text: 'greeting.txt says hello.' },
  ]
  const { result, is_error: isError, usage } = await claude(repository, key, 'Write hello into greeting.txt.')
  expect([result, isError]).toEqual(['greeting.txt says hello.', false])
  expect(await readFile(join(repository, 'greeting.txt'), 'utf8')).toBe('hello\n')

  const messages = backend.seen.at(-1)!.body['messages'] as { role: string; content: unknown }[]
  const results = new Set(messages.filter(({ role }) => role === 'tool').map(({ content }) => content))
  expect(results.size).toBe(3)
  expect([...results]).toEqual(expect.arrayContaining(['hello', 'The result is attached below.']))
  expect(JSON.stringify(messages.at(-1))).toContain('data:image/png;base64,')

  const sum = (name: 'prompt_tokens' | 'completion_tokens') =>
    backend.reported.reduce((tokens, turn) => tokens + turn[name], 0)
  expect(backend.reported).toHaveLength(3)
  expect(usage).toMatchObject({ input_tokens: sum('prompt_tokens'), output_tokens: sum('completion_tokens') })
  await expect
    .poll(() => workshop.usageOf(key))
    .toMatchObject({ requests: 3, prompt_tokens: sum('prompt_tokens'), completion_tokens: sum('completion_tokens') })
})
