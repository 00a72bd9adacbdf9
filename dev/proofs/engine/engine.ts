/**
 * A container engine of our own: Debian's `dockerd`, with its own containerd, inside an own world (see own-world.ts). Images and
 * the cache of builds stay in a folder; containers, networks and volumes go with the engine.
 */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ownFolder } from '@gateway/embedded-postgres/own-folder'
import { controlGroup } from './own-world.ts'

/** Debian's own client, which builds with BuildKit and needs no plugin for that. */
export const DOCKER = '/usr/bin/docker'
export const CACHE = join(import.meta.dirname, '../../../.artifacts/prove')

const START_TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

export const execute = promisify(execFile)

export async function docker(...args: string[]): Promise<string> {
  const { stdout } = await execute(DOCKER, args, { maxBuffer: MAX_OUTPUT_BYTES })
  return stdout.trim()
}

export async function startEngine(): Promise<AsyncDisposable> {
  await mkdir(CACHE, { recursive: true })
  await using cleanup = new AsyncDisposableStack()
  cleanup.use(await ownFolder(CACHE))
  // The machine's own settings are for its own engine.
  const settings = join(CACHE, 'dockerd.json')
  await writeFile(settings, '{}')
  const logFile = join(CACHE, 'dockerd.log')
  const log = openSync(logFile, 'w')
  const args = ['--config-file', settings, '--data-root', join(CACHE, 'docker'), '--cgroup-parent', controlGroup()]
  const daemon = spawn('dockerd', args, { stdio: ['ignore', log, log] })
  closeSync(log)
  const exited = once(daemon, 'exit')
  cleanup.defer(async () => {
    daemon.kill('SIGTERM')
    await exited
  })
  const deadline = Date.now() + START_TIMEOUT_MS
  while (!(await responds())) {
    const life = await Promise.race([exited, delay(100, 'lives' as const)])
    if (life !== 'lives' || Date.now() > deadline) throw new Error(`dockerd did not start:\n${endOf(logFile)}`)
  }
  // Of a run that was killed.
  await removeAll()
  cleanup.defer(removeAll)
  const resources = cleanup.move()
  return { [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

async function responds(): Promise<boolean> {
  return docker('version').then(
    () => true,
    () => false,
  )
}

async function removeAll(): Promise<void> {
  const containers = (await docker('ps', '--all', '--quiet')).split('\n').filter(Boolean)
  if (containers.length > 0) await docker('rm', '--force', '--volumes', ...containers)
  const volumes = (await docker('volume', 'ls', '--quiet')).split('\n').filter(Boolean)
  if (volumes.length > 0) await docker('volume', 'rm', '--force', ...volumes)
  await docker('network', 'prune', '--force')
}

function endOf(logFile: string): string {
  return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-12).join('\n')
}
