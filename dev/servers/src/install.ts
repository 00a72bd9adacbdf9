/**
 * Installs server programs with the system's package manager: Debian and its kin, as root, and only when allowed.
 *
 * Several test processes may find the same program missing at once; a lock lets one of them install and the others wait.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ownFolder } from '@gateway/embedded-postgres/own-folder'
import { findProgram } from './find-program.ts'

export interface Missing {
  /** For people: `NATS server`. */
  name: string
  /** Debian's package. */
  package: string
  /** The environment variable that names one instead. */
  variable: string
  find(): string | undefined
}

const LOCK = join(tmpdir(), 'model-gateway-install')
const WAIT_MS = 600_000

/** Returns the path that `find` finds after the installation, or throws an error that names the next step. */
export async function install(missing: Missing): Promise<string> {
  const obstacle = whyNot()
  if (obstacle) throw new Error(`${missing.name} is missing and ${obstacle}. ${advice(missing)}`)
  await mkdir(LOCK, { recursive: true })
  await using _lock = await waitForLock()
  const installedMeanwhile = missing.find()
  if (installedMeanwhile) return installedMeanwhile
  process.stderr.write(`${missing.name} is missing: installing the package ${missing.package} (apt-get)\n`)
  await apt(['update'])
  await apt(['install', '--yes', '--no-install-recommends', missing.package])
  const found = missing.find()
  if (!found)
    throw new Error(
      `${missing.package} was installed, but its programs are not where they should be. ${advice(missing)}`,
    )
  return found
}

function advice(missing: Missing): string {
  return `Install it (Debian: apt-get install ${missing.package}) or name one in ${missing.variable}.`
}

function whyNot(): string | undefined {
  if (process.env['GATEWAY_NO_INSTALL']) return 'GATEWAY_NO_INSTALL forbids to install it'
  if (!findProgram('apt-get')) return 'this system has no apt-get to install it with'
  if (process.getuid?.() !== 0) return 'only root could install it'
  return undefined
}

async function waitForLock(): Promise<AsyncDisposable> {
  const deadlineMs = Date.now() + WAIT_MS
  for (;;) {
    try {
      return await ownFolder(LOCK)
    } catch (error) {
      if (Date.now() > deadlineMs) throw error
      await delay(500)
    }
  }
}

async function apt(args: string[]): Promise<void> {
  const child = spawn('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=300', ...args], {
    // The installer's output belongs with ours, away from the output of tests.
    stdio: ['ignore', 2, 2],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`apt-get ${args.join(' ')} failed`)
}
