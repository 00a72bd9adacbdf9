/** `npm run prove -- agents details`: `tests/coding-tools` in vitest, which looks closer at a few agents and clients of Python. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { installed, installedPython } from './install.ts'

const ROOT = join(import.meta.dirname, '../../..')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

/** All published in 2026. */
const PACKAGES = {
  '@anthropic-ai/claude-code': '2.1.330',
  '@openai/codex': '0.169.0',
  '@openai/agents': '0.20.0',
  zod: '4.6.7',
}
const OF_PYTHON = ['anthropic==2.12.0', 'openai==3.57.0']

/** Returns the exit code. `words` go to vitest. */
export async function runDetails(words: readonly string[]): Promise<number> {
  const folder = dirname(await installed(`details-${Object.values(PACKAGES).join('-')}`, PACKAGES))
  const programs = await installedPython(`details-${OF_PYTHON.join('-')}`, OF_PYTHON)
  const config = join(ROOT, 'tests/coding-tools/vitest.config.ts')
  const vitest = spawn(process.execPath, [VITEST, 'run', '--config', config, ...words], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, CODING_TOOLS_FOLDER: folder, CODING_TOOLS_PYTHON: join(programs, 'python') },
  })
  const [code] = (await once(vitest, 'exit')) as [number | null]
  return code ?? 1
}
