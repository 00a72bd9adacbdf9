/** Claude Code as npm ships it. */

import { join } from 'node:path'
import { runProgram, type Agent } from '../agent.ts'
import { installed } from '../install.ts'

const VERSION = '2.1.330'
let folder = ''

export const claudeCode: Agent = {
  name: 'claude-code',
  title: 'Claude Code',
  version: VERSION,
  async install() {
    folder = await installed(`claude-code-${VERSION}`, { '@anthropic-ai/claude-code': VERSION })
  },
  run: (work, signal) =>
    runProgram(
      process.execPath,
      [
        join(folder, '@anthropic-ai/claude-code/cli-wrapper.cjs'),
        ...['-p', work.task, '--output-format', 'json', '--allowedTools', 'Write,Read,Bash'],
      ],
      {
        cwd: work.repository,
        env: {
          HOME: work.home,
          ANTHROPIC_BASE_URL: work.url,
          ANTHROPIC_API_KEY: work.key,
          ANTHROPIC_MODEL: work.model,
          ANTHROPIC_DEFAULT_HAIKU_MODEL: work.model,
          CLAUDE_CODE_AUTO_COMPACT_WINDOW: '100000',
          // It speaks to nobody but the gateway: no updates, telemetry or reports.
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_AUTOUPDATER: '1',
          DISABLE_TELEMETRY: '1',
          DISABLE_ERROR_REPORTING: '1',
        },
        signal,
      },
    ),
  callFor: ({ command, number }) => ({ name: 'Bash', args: { command, description: `Do step ${number}` } }),
  isSummary: ({ texts }) => /detailed summary of (?:the|our|this) conversation/i.test(texts.at(-1) ?? ''),
  isSide: ({ tools }) => tools.length === 0,
}
