/**
 * `npm run prove contract`: Schemathesis holds a running gateway against its own `/openapi.json`, with all default checks.
 * Words after `--` go to Schemathesis. Exits as Schemathesis does: 0 when no check failed.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import { signIn } from '@gateway/stand-ins/sign-in'
import { startStandalone } from '../../../tests/promises/standalone.ts'
import { findSchemathesis } from './schemathesis.ts'

/** Limits that thousands of requests do not reach. */
const ENOUGH = { limit: 1e12, rpm: 1_000_000, tpm: 1_000_000_000 }
const PLANS = [
  { slug: 'guest-device', ...ENOUGH, perDay: 1_000_000, guest: true },
  { slug: 'free', ...ENOUGH, paid: true, default: true },
]

try {
  const program = await findSchemathesis()
  await using gateway = await startStandalone({ config: { plans: PLANS } })
  await using settings = await writeSettings(gateway.url, gateway.issuer)
  const args = ['--config-file', settings.path, 'run', `${gateway.url}/openapi.json`, ...process.argv.slice(2)]
  // Its own folder: it leaves its reports and its memory of failures where it runs.
  const child = spawn(program, args, { stdio: 'inherit', cwd: settings.folder })
  const [code] = (await once(child, 'exit')) as [number | null]
  process.exitCode = code ?? 1
} catch (error) {
  reportFatal(error)
}

interface Settings extends AsyncDisposable {
  path: string
  folder: string
}

/** With a credential for each way to sign in. They are of two accounts: who rotates one's key must not end the other's. */
async function writeSettings(url: string, issuer: string): Promise<Settings> {
  const signInAs = (name: string) => signIn(issuer, { name, redirectUri: `${url}/console` })
  const key = await mintKey(url, await signInAs('developer'))
  const token = await signInAs('owner')
  const rules = await readFile(join(import.meta.dirname, 'schemathesis.toml'), 'utf8')
  const folder = await mkdtemp(join(tmpdir(), 'gateway-contract-'))
  const path = join(folder, 'schemathesis.toml')
  const credentials = `[auth.openapi.key]\nbearer = "${key}"\n\n[auth.openapi.signIn]\nbearer = "${token}"\n`
  const hooks = JSON.stringify(join(import.meta.dirname, 'hooks.py'))
  await writeFile(path, `hooks = ${hooks}\n\n${credentials}\n${rules}`)
  return { path, folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

async function mintKey(url: string, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/keys/developer`, { method: 'POST', headers, body: '{}' })
  if (!response.ok) throw new Error(`no key was minted: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { key: string }).key
}
