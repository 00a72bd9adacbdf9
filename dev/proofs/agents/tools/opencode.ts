/** opencode as npm ships it, by a provider that speaks chat completions. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram, type Agent } from '../agent.ts'
import { installed } from '../install.ts'

const VERSION = '1.18.33'
let folder = ''

export const opencode: Agent = {
  name: 'opencode',
  title: 'opencode',
  version: VERSION,
  async install() {
    folder = await installed(`opencode-${VERSION}`, {
      'opencode-ai': VERSION,
      [`opencode-linux-${process.arch}`]: VERSION,
    })
  },
  async run(work, signal) {
    const model = { name: work.model, tool_call: true, limit: { context: 80_000, output: 8_000 } }
    const config = {
      provider: {
        gateway: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${work.url}/v1`, apiKey: work.key },
          models: { [work.model]: model },
        },
      },
      permission: { edit: 'allow', bash: 'allow', webfetch: 'deny' },
      compaction: { auto: true, prune: false },
      autoupdate: false,
      share: 'disabled',
    }
    await mkdir(join(work.home, '.config/opencode'), { recursive: true })
    await writeFile(join(work.home, '.config/opencode/opencode.json'), JSON.stringify(config))
    return runProgram(
      join(folder, `opencode-linux-${process.arch}/bin/opencode`),
      ['run', '--model', `gateway/${work.model}`, work.task],
      {
        cwd: work.repository,
        env: {
          HOME: work.home,
          OPENCODE_DISABLE_AUTOUPDATE: '1',
          OPENCODE_DISABLE_MODELS_FETCH: '1',
          OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        },
        signal,
      },
    )
  },
  callFor: ({ command, number }) => ({ name: 'bash', args: { command, description: `Does step ${number}` } }),
  isSummary: ({ texts }) => /(?:detailed|anchored|new) (?:prompt|summary)|summariz/i.test(texts.at(-1) ?? ''),
  isSide: ({ tools, texts }) => tools.length === 0 || /generate a title/i.test(texts.join('\n')),
}
