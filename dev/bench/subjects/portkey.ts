/**
 * Portkey's open-source gateway, from npm, on the Node that this gateway runs on.
 */

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { BENCH_DATA } from '../harness/folders.ts'
import { runServer, runToEnd } from '../harness/program.ts'
import { CHAT_PATH, type Subject } from './subject.ts'

const VERSION = '1.15.2'
/** The newest with which it streams: with 1.14.4 and with 1.19.19, which a plain install takes, its streams are 500s. */
const NODE_SERVER = '1.14.0'
const FOLDER = join(BENCH_DATA, 'peers', `portkey-${VERSION}`)
const PACKAGE = join(FOLDER, 'node_modules', '@portkey-ai', 'gateway')

export const portkey: Subject = {
  name: 'Portkey',
  async prepare(signal) {
    await install(signal)
    return {
      description:
        `@portkey-ai/gateway ${VERSION} (npm) on Node ${process.version}, one process, NODE_ENV=production, --headless, target by its headers ` +
        `(with @hono/node-server ${NODE_SERVER}: with newer ones its streams fail); its open-source form has no keys, limits, quota or metering of its own`,
      async launch(backendPort, signal) {
        const port = await freePort()
        const server = await runServer(
          {
            file: process.execPath,
            args: [join(PACKAGE, 'build', 'start-server.js'), '--headless', `--port=${port}`],
            cwd: PACKAGE,
            environment: { ...process.env, NODE_ENV: 'production' },
            logFile: join(FOLDER, 'server.log'),
            signal,
          },
          port,
        )
        const headers = {
          authorization: 'Bearer sk-bench',
          'x-portkey-provider': 'openai',
          'x-portkey-custom-host': `http://127.0.0.1:${backendPort}/v1`,
        }
        return {
          endpoint: { ports: [port], path: CHAT_PATH, model: 'bench', headers },
          processes: () => ({ portkey: server.pid }),
          [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
        }
      },
    }
  },
}

async function install(signal: AbortSignal): Promise<void> {
  const installed = await readFile(join(PACKAGE, 'package.json'), 'utf8').catch(() => '{}')
  if ((JSON.parse(installed) as { version?: string }).version === VERSION) return
  await mkdir(FOLDER, { recursive: true })
  const manifest = { private: true, overrides: { '@hono/node-server': NODE_SERVER } }
  await writeFile(join(FOLDER, 'package.json'), JSON.stringify(manifest))
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `@portkey-ai/gateway@${VERSION}`]
  await runToEnd({
    file: 'npm',
    args,
    cwd: FOLDER,
    environment: process.env,
    logFile: join(FOLDER, 'install.log'),
    signal,
  })
}
