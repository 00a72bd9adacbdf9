/**
 * Bifrost's HTTP gateway, built from its Go module. Its settings are from its documentation (config.json, governance): a
 * virtual key with limits and a budget, requests logged to its SQLite store.
 *
 * Where the module cannot be had, the refusal is kept beside it and not requested again until that file is removed.
 */

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { findProgram } from '@gateway/servers/find-program'
import { BENCH_DATA } from '../harness/folders.ts'
import { runServer, runToEnd } from '../harness/program.ts'
import { CHAT_PATH, type Subject } from './subject.ts'

const MODULE = 'github.com/maximhq/bifrost/transports/bifrost-http'
const FOLDER = join(BENCH_DATA, 'peers', 'bifrost')
const PROGRAM = join(FOLDER, 'bifrost-http')
const REFUSAL = join(FOLDER, 'refused')
const VIRTUAL_KEY = 'sk-bf-bench-0123456789abcdef'

export const bifrost: Subject = {
  name: 'Bifrost',
  async prepare(signal) {
    const go = await install(signal)
    const version = /\smod\s+\S+\s+(\S+)/.exec(execFileSync(go, ['version', '-m', PROGRAM], { encoding: 'utf8' }))?.[1]
    return {
      description: `bifrost-http ${version} (Go), one process; a virtual key with limits and a budget, requests logged to SQLite`,
      async launch(backendPort, signal) {
        const data = join(FOLDER, 'data')
        await rm(data, { recursive: true, force: true })
        await mkdir(data, { recursive: true })
        await writeFile(join(data, 'config.json'), JSON.stringify(configOver(backendPort, data)))
        const port = await freePort()
        const args = ['-app-dir', data, '-host', '127.0.0.1', '-port', String(port), '-log-level', 'error']
        const logFile = join(FOLDER, 'server.log')
        const server = await runServer(
          { file: PROGRAM, args, cwd: FOLDER, environment: process.env, logFile, signal },
          port,
        )
        return {
          endpoint: { ports: [port], path: CHAT_PATH, model: 'openai/bench', headers: { 'x-bf-vk': VIRTUAL_KEY } },
          processes: () => ({ bifrost: server.pid }),
          [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
        }
      },
    }
  },
}

async function install(signal: AbortSignal): Promise<string> {
  const go = [findProgram('go'), '/usr/local/go/bin/go'].find((file) => file !== undefined && existsSync(file))
  if (!go) throw new Error('it is built with Go, which is not on this machine')
  if (existsSync(PROGRAM)) return go
  if (existsSync(REFUSAL)) throw new Error(await readFile(REFUSAL, 'utf8'))
  await mkdir(FOLDER, { recursive: true })
  const environment = { ...process.env, GOBIN: FOLDER, GOTOOLCHAIN: 'auto' }
  const logFile = join(FOLDER, 'install.log')
  try {
    await runToEnd({ file: go, args: ['install', `${MODULE}@latest`], cwd: FOLDER, environment, logFile, signal })
  } catch (error) {
    signal.throwIfAborted()
    const words = `its Go module could not be installed: ${lastWords(await readFile(logFile, 'utf8'))}`
    await writeFile(REFUSAL, words)
    throw new Error(words, { cause: error })
  }
  return go
}

/** The registry's reply without its address: that is the machine's own setting. */
function lastWords(log: string): string {
  const line = log.trim().split('\n').slice(-2).join(' ')
  return line
    .replace(/^.*reading https?:\S+: /, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Limits and budget are in force and far away. */
function configOver(backendPort: number, data: string): object {
  return {
    client: { drop_excess_requests: false, enable_logging: true, enforce_auth_on_inference: true },
    providers: {
      openai: {
        keys: [{ name: 'bench', value: 'sk-none', models: ['*'], weight: 1 }],
        network_config: { base_url: `http://127.0.0.1:${backendPort}`, max_retries: 0 },
        concurrency_and_buffer_size: { concurrency: 5_000, buffer_size: 10_000 },
      },
    },
    governance: {
      budgets: [{ id: 'bench', max_limit: 1e9, reset_duration: '1M' }],
      rate_limits: [
        {
          id: 'bench',
          token_max_limit: 1e12,
          token_reset_duration: '1m',
          request_max_limit: 1e9,
          request_reset_duration: '1m',
        },
      ],
      virtual_keys: [
        {
          id: 'bench',
          name: 'bench',
          value: VIRTUAL_KEY,
          is_active: true,
          budget_id: 'bench',
          rate_limit_id: 'bench',
          provider_configs: [{ provider: 'openai', weight: 1, allowed_models: ['*'], key_ids: ['*'] }],
        },
      ],
    },
    config_store: { enabled: true, type: 'sqlite', config: { path: join(data, 'config.db') } },
    logs_store: { enabled: true, type: 'sqlite', config: { path: join(data, 'logs.db') } },
  }
}
