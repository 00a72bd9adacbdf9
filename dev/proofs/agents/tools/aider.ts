/** aider as PyPI ships it. It has no tools: its model writes files as text, and commands that aider runs. */

import { join } from 'node:path'
import { runProgram, type Agent } from '../agent.ts'
import { installedPython } from '../install.ts'

const VERSION = '0.86.2'
let programs = ''

export const aider: Agent = {
  name: 'aider',
  title: 'aider',
  version: VERSION,
  async install() {
    programs = await installedPython(`aider-${VERSION}`, [`aider-chat==${VERSION}`])
  },
  run: (work, signal) =>
    runProgram(
      join(programs, 'aider'),
      [
        ...['--model', `openai/${work.model}`, '--openai-api-base', `${work.url}/v1`, '--openai-api-key', work.key],
        ...['--edit-format', 'whole', '--yes-always', '--no-auto-commits', '--no-check-update', '--no-gitignore'],
        ...['--analytics-disable', '--no-show-model-warnings', '--no-suggest-shell-commands', '--message', work.task],
      ],
      { cwd: work.repository, env: { HOME: work.home }, signal },
    ),
  callFor: {
    writeAll: (steps) => steps.map(({ number }) => `steps/${number}.txt\n\`\`\`\n${number}\n\`\`\`\n`).join('\n'),
  },
  isSummary: () => false,
  isSide: () => false,
  neverCompacts: 'one message has one turn',
}
