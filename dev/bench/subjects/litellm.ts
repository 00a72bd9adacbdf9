/**
 * LiteLLM's proxy, from PyPI, in a virtual environment of its own.
 */

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { findProgram } from '@gateway/servers/find-program'
import { install as installPackage } from '@gateway/servers/install'
import { BENCH_DATA } from '../harness/folders.ts'
import { runServer, runToEnd } from '../harness/program.ts'
import { CHAT_PATH, type Subject } from './subject.ts'

const VERSION = '1.106.2'
const FOLDER = join(BENCH_DATA, 'peers', `litellm-${VERSION}`)
const PROGRAMS = join(FOLDER, 'venv', 'bin')
const MASTER_KEY = 'sk-bench-0123456789abcdef'

export const litellm: Subject = {
  name: 'LiteLLM',
  async prepare(signal) {
    await install(signal)
    return {
      description:
        `litellm[proxy] ${VERSION} (PyPI), one worker on uvicorn with uvloop as its production page advises for one core, LITELLM_LOG=ERROR; ` +
        `authentication by master key; keys with limits, quota and spend need its database client, whose engine is no part of the package`,
      async launch(backendPort, signal) {
        const port = await freePort()
        const config = join(FOLDER, 'config.yaml')
        await writeFile(config, JSON.stringify(configOver(backendPort)))
        const server = await runServer(
          {
            file: join(PROGRAMS, 'litellm'),
            args: ['--host', '127.0.0.1', '--port', String(port), '--config', config, '--num_workers', '1'],
            cwd: FOLDER,
            environment: {
              ...process.env,
              PATH: `${PROGRAMS}:${process.env['PATH']}`,
              LITELLM_MODE: 'PRODUCTION',
              LITELLM_LOG: 'ERROR',
              LITELLM_LOCAL_MODEL_COST_MAP: 'True',
              LITELLM_TELEMETRY: 'False',
            },
            logFile: join(FOLDER, 'server.log'),
            signal,
          },
          port,
        )
        return {
          endpoint: {
            ports: [port],
            path: CHAT_PATH,
            model: 'bench',
            headers: { authorization: `Bearer ${MASTER_KEY}` },
          },
          processes: () => ({ litellm: server.pid }),
          [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
        }
      },
    }
  },
}

function configOver(backendPort: number): object {
  return {
    model_list: [
      {
        model_name: 'bench',
        litellm_params: { model: 'openai/bench', api_base: `http://127.0.0.1:${backendPort}/v1`, api_key: 'sk-none' },
      },
    ],
    general_settings: { master_key: MASTER_KEY },
    litellm_settings: { request_timeout: 600, set_verbose: false, json_logs: true, telemetry: false },
  }
}

async function install(signal: AbortSignal): Promise<void> {
  const done = join(FOLDER, 'installed')
  if (existsSync(done)) return
  await mkdir(FOLDER, { recursive: true })
  const find = () => [findProgram('python3')].find((file) => file !== undefined && makesEnvironments(file))
  const python = find() ?? (await installPackage({ name: 'Python', package: 'python3-venv', variable: 'PATH', find }))
  const logFile = join(FOLDER, 'install.log')
  const command = { environment: process.env, cwd: FOLDER, logFile, signal }
  await runToEnd({ ...command, file: python, args: ['-m', 'venv', '--clear', 'venv'] })
  await runToEnd({
    ...command,
    file: join(PROGRAMS, 'pip'),
    args: ['install', '--quiet', `litellm[proxy]==${VERSION}`],
  })
  await writeFile(`${done}.new`, '')
  await rename(`${done}.new`, done)
}

/** Debian has that part of Python in a package of its own. */
function makesEnvironments(python: string): boolean {
  return spawnSync(python, ['-c', 'import ensurepip, venv'], { stdio: 'ignore' }).status === 0
}
