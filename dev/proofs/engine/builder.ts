/**
 * BuildKit and buildx of our own, inside an own world, as a maintainer has them. The cache of this builder holds nothing but
 * the results of its earlier builds.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CACHE, execute } from './engine.ts'
import { goProgram } from './go-program.ts'
import { controlGroup } from './own-world.ts'

const BUILDKIT = { name: 'buildkitd', module: 'github.com/moby/buildkit', version: 'v0.34.2', entry: './cmd/buildkitd' }
const BUILDX = { name: 'docker-buildx', module: 'github.com/docker/buildx', version: 'v0.38.2', entry: './cmd/buildx' }
const START_TIMEOUT_MS = 60_000

/** Built outside of an own world, as a program from the module proxy. */
export async function buildBuilders(): Promise<void> {
  await goProgram(BUILDKIT)
  await goProgram(BUILDX)
}

export interface Builder extends AsyncDisposable {
  /** With these `docker buildx` builds here. */
  readonly environment: Record<string, string>
}

/** `folder`: its cache, below that of the proofs. */
export async function startBuilder(name: string, folder: string): Promise<Builder> {
  const root = join(CACHE, folder)
  await mkdir(root, { recursive: true })
  const config = join(root, 'buildkitd.toml')
  await writeFile(config, `[worker.oci]\n  defaultCgroupParent = "${controlGroup()}"\n`)
  const address = `unix:///run/buildkit-${name}.sock`
  const logFile = join(root, 'buildkitd.log')
  const log = openSync(logFile, 'w')
  const args = ['--config', config, '--root', join(root, 'buildkit'), '--addr', address]
  const daemon = spawn(await goProgram(BUILDKIT), args, { stdio: ['ignore', log, log] })
  closeSync(log)
  const exited = once(daemon, 'exit')
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(async () => {
    daemon.kill('SIGTERM')
    await exited
  })
  const environment = { DOCKER_CONFIG: await dockerConfig(name), BUILDX_BUILDER: name }
  const env = { ...process.env, ...environment }
  await execute('docker', ['buildx', 'create', '--name', name, '--driver', 'remote', address], { env })
  const deadline = Date.now() + START_TIMEOUT_MS
  while (!(await isReady(env))) {
    const state = await Promise.race([exited, delay(200, 'runs' as const)])
    if (state === 'runs' && Date.now() < deadline) continue
    throw new Error(`buildkitd did not start:\n${readFileSync(logFile, 'utf8').split('\n').slice(-12).join('\n')}`)
  }
  const resources = cleanup.move()
  return { environment, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** In memory, and away from the user's own. */
async function dockerConfig(name: string): Promise<string> {
  const folder = `/run/docker-config-${name}`
  await mkdir(join(folder, 'cli-plugins'), { recursive: true })
  await symlink(await goProgram(BUILDX), join(folder, 'cli-plugins', BUILDX.name))
  return folder
}

async function isReady(env: NodeJS.ProcessEnv): Promise<boolean> {
  return execute('docker', ['buildx', 'inspect', '--bootstrap'], { env }).then(
    () => true,
    () => false,
  )
}
