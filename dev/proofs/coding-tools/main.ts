/**
 * `npm run prove coding-tools`: installs coding tools as npm ships them (900 MB) and Anthropic's client for Python, and says
 * so. Then it runs `tests/coding-tools`: each tool works on a task in a scratch repository, through the gateway. Words after
 * `--` go to vitest.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import { npmPackages } from '../../../scripts/npm-packages.ts'
import { pythonWith } from '../../../scripts/python.ts'

const ROOT = join(import.meta.dirname, '../../..')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

/** All published in 2026. */
const TOOLS = {
  '@anthropic-ai/claude-code': '2.1.330',
  '@openai/codex': '0.169.0',
  '@openai/agents': '0.20.0',
  zod: '4.6.7',
}
const ANTHROPIC_OF_PYTHON = 'anthropic==2.12.0'

try {
  const folder = await npmPackages({
    folder: `coding-tools-${Object.values(TOOLS).join('-')}`,
    packages: TOOLS,
    notice: 'installing the coding tools',
  })
  const programs = await pythonWith({
    folder: `coding-tools-${ANTHROPIC_OF_PYTHON}`,
    packages: [ANTHROPIC_OF_PYTHON],
    notice: `installing ${ANTHROPIC_OF_PYTHON} from PyPI`,
  })
  const config = join(ROOT, 'tests/coding-tools/vitest.config.ts')
  const vitest = spawn(process.execPath, [VITEST, 'run', '--config', config, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, CODING_TOOLS_FOLDER: folder, CODING_TOOLS_PYTHON: join(programs, 'python') },
  })
  const [code] = (await once(vitest, 'exit')) as [number | null]
  process.exitCode = code ?? 1
} catch (error) {
  reportFatal(error)
}
