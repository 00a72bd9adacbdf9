/**
 * Where a coding tool works: a gateway in front of a scripted backend, an account of its own, a scratch repository.
 */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { usageRecord, type UsageRecord } from '@gateway/contracts/usage-api'
import { newDeveloper, send } from '../promises/gateway.ts'
import { startStandalone } from '../promises/standalone.ts'
import { type ScriptedBackend, startScriptedBackend } from './scripted-backend.ts'

export interface Workshop extends AsyncDisposable {
  url: string
  backend: ScriptedBackend
  /** An account that has used nothing. */
  newKey(): Promise<string>
  /** A repository with nothing in it. */
  newRepository(): Promise<string>
  /** An empty folder for a tool's own files. */
  newHome(): Promise<string>
  usageOf(key: string): Promise<UsageRecord['totals']>
}

/** The one model of the gateway. */
export const MODEL = 'scripted'

export async function openWorkshop(): Promise<Workshop> {
  await using opening = new AsyncDisposableStack()
  const backend = opening.use(await startScriptedBackend())
  const folder = await mkdtemp(join(tmpdir(), 'gateway-workshop-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const gateway = opening.use(await startStandalone({ config: configOver(backend.url) }))
  let folders = 0
  const newFolder = async (): Promise<string> => {
    const path = join(folder, String(folders++))
    await mkdir(path)
    return path
  }
  const opened = opening.move()
  return {
    url: gateway.url,
    backend,
    newKey: async () => (await newDeveloper({ urls: [gateway.url], issuer: gateway.issuer })).key,
    async newRepository() {
      const path = await newFolder()
      await promisify(execFile)('git', ['init', '--quiet', path])
      return path
    },
    newHome: newFolder,
    usageOf: async (key) => usageRecord.parse((await send(gateway.url, '/v1/usage', { key })).body).totals,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

export function configOver(url: string): object {
  return {
    backends: [{ id: 'scripted', url, capabilities: ['chat', 'tools', 'vision'] }],
    pools: [{ id: 'scripted', targets: [{ backend: 'scripted', model: 'scripted' }] }],
    models: [{ id: MODEL, type: 'chat', pool: 'scripted', multiplier: 1, maxOutputTokens: 10_000 }],
    plans: [
      { slug: 'guest-device', limit: 1e9, rpm: 1_000, tpm: 1e9, perDay: 1_000, guest: true },
      { slug: 'team', limit: 1e9, rpm: 10_000, tpm: 1e9, default: true },
    ],
  }
}

export interface Ran {
  code: number | null
  out: string
  err: string
}

/** A program with nothing to read, and with the environment that is given alone. */
export async function runTool(
  program: string,
  args: string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<Ran> {
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

/** Where the tools are installed. */
export function toolPath(...path: string[]): string {
  return join(process.env['CODING_TOOLS_FOLDER']!, 'node_modules', ...path)
}
