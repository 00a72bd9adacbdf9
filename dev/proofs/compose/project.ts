/**
 * The compose file as a reader starts it; other images' names are all that differs.
 */

import { execFile, execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { versionOf } from '../../../scripts/release/versions.ts'
import { CACHE, docker } from '../engine/engine.ts'
import { goProgram } from '../engine/go-program.ts'
import { imageOf, standIns, type Target } from '../engine/images.ts'

const ROOT = join(import.meta.dirname, '../../..')
const COMPOSE = {
  name: 'docker-compose',
  module: 'github.com/docker/compose/v2',
  version: 'v2.40.3',
  entry: './cmd',
  linkerFlags: '-s -w -X github.com/docker/compose/v2/internal.Version=v2.40.3',
}
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

const execute = promisify(execFile)

export interface Project {
  readonly passwords: Readonly<Record<string, string>>
  /** Runs Compose with the services of `version`. */
  compose(version: Version, ...args: string[]): Promise<string>
  /** A container's name. */
  container(service: string, number?: number): string
  /** A container's address in the project's network. */
  addressOf(service: string): Promise<string>
}

/** This checkout, and the last release. */
export const PRESENT = 'this version'
export const FORMER = 'the last release'
export type Version = typeof PRESENT | typeof FORMER
export const PRESENT_TAG = versionOf(ROOT)
export const FORMER_IMAGE = 'prove/former'
export const NETWORK = 'model-gateway_gateway'

export async function openProject(): Promise<Project> {
  const program = await goProgram(COMPOSE)
  await mkdir(CACHE, { recursive: true })
  const environmentFile = join(CACHE, 'compose.env')
  const environment = execFileSync(process.execPath, [join(ROOT, 'deploy/compose/make-env.mjs')], { encoding: 'utf8' })
  await writeFile(environmentFile, environment)
  const container = (service: string, number = 1): string => `model-gateway-${service}-${number}`
  return {
    passwords: Object.fromEntries(
      [...environment.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    ),
    container,
    async compose(version, ...args) {
      const images = join(CACHE, 'compose-images.yaml')
      await writeFile(images, stringify({ services: imagesAt(version) }))
      const files = ['--env-file', environmentFile, '--file', join(ROOT, 'docker-compose.yml'), '--file', images]
      const { stdout } = await execute(program, [...files, ...args], { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES })
      return stdout.trim()
    },
    async addressOf(service) {
      const format = `{{(index .NetworkSettings.Networks "${NETWORK}").IPAddress}}`
      return docker('inspect', '--format', format, container(service))
    },
  }
}

function imagesAt(version: Version): Record<string, { image: string; command?: string[] }> {
  const own = (target: Target) => ({ image: imageOf(target, PRESENT_TAG) })
  const service = (target: Target) => (version === FORMER ? formerService(target) : own(target))
  return {
    edge: service('edge'),
    router: service('router'),
    keys: service('keys'),
    metering: service('metering'),
    ctl: own('ctl'),
    'identity-provider': own('development'),
    'backend-a': own('development'),
    'backend-b': own('development'),
    'nats-1': { image: standIns.nats },
    'nats-2': { image: standIns.nats },
    'nats-3': { image: standIns.nats },
    redis: { image: standIns.redis },
    postgres: { image: standIns.postgres },
  }
}

function formerService(target: Target): { image: string; command: string[] } {
  return { image: FORMER_IMAGE, command: [`services/${target}/src/main.js`] }
}
