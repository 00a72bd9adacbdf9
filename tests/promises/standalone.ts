/**
 * Starts the program of `npm start`, as a process of its own on free ports.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { bareEnvironment } from './bare-environment.ts'

export interface Standalone extends AsyncDisposable {
  readonly url: string
  readonly dataDir: string
  /** Of the file that it was given. */
  readonly configPath: string
  readonly issuer: string
  /** Everything that it printed so far. */
  readonly output: string
  /** Ends it. Returns its exit code, or the signal that killed it. */
  stop(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | string>
  /** Starts it again on the same ports and data. */
  restart(): Promise<void>
}

/** Only a start that hangs shows by it: one on a machine with other work may take a minute. */
const READY_WITHIN_MS = 180_000

export async function startStandalone(
  options: {
    config?: object | string | undefined
    environment?: Record<string, string>
    port?: number
    /** The words after `npm start --`. */
    args?: string[]
    /** The program and its first arguments. */
    command?: readonly [string, ...string[]]
  } = {},
): Promise<Standalone> {
  await using opening = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'))
  opening.defer(() => rm(directory, { recursive: true, force: true }))
  const port = options.port ?? (await freePort())
  const dataDir = options.environment?.['DATA_DIR'] ?? join(directory, 'data')
  const environment: Record<string, string> = {
    ...bareEnvironment(),
    PORT: String(port),
    HEALTH_PORT: '0',
    ...options.environment,
    DATA_DIR: dataDir,
  }
  const configPath = join(directory, 'gateway.yaml')
  if (options.config !== undefined) {
    environment['GATEWAY_CONFIG'] = configPath
    // JSON is YAML.
    const text = typeof options.config === 'string' ? options.config : JSON.stringify(options.config)
    await writeFile(configPath, text)
  }
  const { args = [], command = [process.execPath, 'services/standalone/src/main.ts'] } = options
  const start = () => launch(environment, [...command, ...args])
  let running = await start()
  const stop = async (signal: NodeJS.Signals) => {
    if (running.child.exitCode !== null) return running.child.exitCode
    if (running.child.signalCode !== null) return running.child.signalCode
    const exited = once(running.child, 'exit')
    running.child.kill(signal)
    const [code, by] = (await exited) as [number | null, string | null]
    return code ?? by!
  }
  const opened = opening.move()
  return {
    url: `http://127.0.0.1:${port}`,
    dataDir,
    configPath,
    get issuer() {
      return /sign-in\s+(\S+)/.exec(running.output())![1]!
    },
    get output() {
      return running.output()
    },
    stop,
    async restart() {
      running = await start()
    },
    async [Symbol.asyncDispose]() {
      await stop('SIGTERM')
      await opened.disposeAsync()
    },
  }
}

async function launch(
  environment: Record<string, string>,
  [program, ...args]: readonly string[],
): Promise<{ child: ChildProcess; output: () => string }> {
  const child = spawn(program!, args, {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const listen = (bytes: Buffer) => (output += bytes.toString())
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  const startedAtMs = performance.now()
  while (!output.includes('is ready at')) {
    const dead = child.exitCode !== null || child.signalCode !== null
    if (dead || performance.now() - startedAtMs > READY_WITHIN_MS) {
      child.kill('SIGKILL')
      throw new Error(`the gateway did not start:\n${output}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return { child, output: () => output }
}
