/** OpenAI's Agents SDK: an agent of ours with one tool, which compacts its session by the Responses API. */

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram, type Agent } from '../agent.ts'
import { installed } from '../install.ts'
import { DONE } from '../task.ts'

const VERSION = '0.20.0'
const SCRIPT = 'agents-sdk.mjs'
let folder = ''

export const agentsSdk: Agent = {
  name: 'agents-sdk',
  title: 'OpenAI Agents SDK',
  version: VERSION,
  async install() {
    folder = await installed(`agents-sdk-${VERSION}`, { '@openai/agents': VERSION, zod: '4.6.7' })
    // Beside the packages that it imports.
    await copyFile(join(import.meta.dirname, SCRIPT), join(folder, SCRIPT))
  },
  run: (work, signal) =>
    runProgram(process.execPath, [join(folder, SCRIPT), work.task, DONE], {
      cwd: work.repository,
      env: {
        HOME: work.home,
        OPENAI_BASE_URL: `${work.url}/v1`,
        OPENAI_API_KEY: work.key,
        MODEL: work.model,
      },
      signal,
    }),
  callFor: ({ command }) => ({ name: 'shell', args: { command } }),
  isSummary: ({ texts }) => /^Stop here\. Write a summary/m.test(texts.at(-1) ?? ''),
  endsTurns: true,
  isSide: () => false,
}
