/** Codex as npm ships it, by a provider of the user's own and by the built-in one. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram, type Agent, type Work } from '../agent.ts'
import { installed } from '../install.ts'

const VERSION = '0.169.0'
const PACKAGE = { '@openai/codex': VERSION }

type Provider = { settings: (work: Work) => string[]; env: (work: Work) => Record<string, string> }

const OWN: Provider = {
  settings: ({ url }) => {
    const members = { name: 'gateway', base_url: `${url}/v1`, env_key: 'GATEWAY_KEY', wire_api: 'responses' }
    const written = Object.entries(members).map(([name, value]) => `${name}="${value}"`)
    return ['model_provider=gateway', `model_providers.gateway={${written.join(',')}}`]
  },
  env: ({ key }) => ({ GATEWAY_KEY: key }),
}

const BUILT_IN: Provider = {
  settings: ({ url }) => [`openai_base_url="${url}/v1"`],
  env: ({ url, key }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key, CODEX_API_KEY: key }),
}

export const codex = withProvider('codex', 'Codex, own provider', OWN)
export const codexBuiltIn = withProvider('codex-built-in', 'Codex, built-in provider', BUILT_IN)

function withProvider(name: string, title: string, provider: Provider): Agent {
  let folder = ''
  return {
    name,
    title,
    version: VERSION,
    install: async () => {
      folder = await installed(`codex-${VERSION}`, PACKAGE)
    },
    async run(work, signal) {
      const settings = [
        ...provider.settings(work),
        'model_context_window=100000',
        'model_auto_compact_token_limit=60000',
        'model_reasoning_effort="low"',
      ]
      const options = [
        '--json',
        '--skip-git-repo-check',
        '--dangerously-bypass-approvals-and-sandbox',
        '-m',
        work.model,
      ]
      await mkdir(join(work.home, 'codex'))
      await writeFile(join(work.home, 'codex', 'auth.json'), JSON.stringify({ OPENAI_API_KEY: work.key }))
      return runProgram(
        process.execPath,
        [
          join(folder, '@openai/codex/bin/codex.js'),
          ...['exec', ...options, ...settings.flatMap((each) => ['-c', each]), work.task],
        ],
        {
          cwd: work.repository,
          env: { CODEX_HOME: join(work.home, 'codex'), HOME: work.home, ...provider.env(work) },
          signal,
        },
      )
    },
    callFor: ({ command }) => ({ name: 'exec_command', args: { cmd: command } }),
    isSummary: ({ texts }) => /CONTEXT CHECKPOINT COMPACTION|^Stop here\. Write a summary/m.test(texts.at(-1) ?? ''),
    isSide: ({ tools }) => tools.length === 0,
  }
}
