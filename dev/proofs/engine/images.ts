/**
 * The images of a proof: stand-ins for the ones of a registry, and ours, as a release builds them on one of these.
 */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { embeddedBinaries } from '@gateway/embedded-postgres/binaries'
import { findProgram } from '@gateway/servers/find-program'
import { CACHE, docker, DOCKER } from './engine.ts'
import { goProgram } from './go-program.ts'

const STAND_INS = join(import.meta.dirname, 'stand-ins')
const MIRROR = 'http://deb.debian.org/debian'
const NATS = { name: 'nats-server', module: 'github.com/nats-io/nats-server/v2', version: 'v2.15.2', entry: '.' }

const execute = promisify(execFile)

export const standIns = {
  node: 'prove/node',
  nats: 'prove/nats',
  redis: 'prove/redis',
  postgres: 'prove/postgres',
} as const

export const targets = ['edge', 'router', 'keys', 'metering', 'ctl', 'development'] as const
export type Target = (typeof targets)[number]

type StandIn = keyof typeof standIns

/** Makes those that the engine lacks. */
export async function makeStandIns(names = Object.keys(standIns) as StandIn[]): Promise<void> {
  const present = await docker('image', 'ls', '--format', '{{.Repository}}')
  if (!present.split('\n').includes('prove/debian')) await importDebian()
  await mkdir(CACHE, { recursive: true })
  const context = await mkdtemp(join(CACHE, 'context-'))
  try {
    await cp(STAND_INS, context, { recursive: true })
    for (const name of names) {
      await programs[name]?.(context)
      await build(['--file', join(context, 'Dockerfile'), '--target', name, '--tag', standIns[name], context])
    }
  } finally {
    await rm(context, { recursive: true, force: true })
  }
}

async function importDebian(): Promise<void> {
  const system = join(CACHE, 'debian')
  process.stderr.write(`making a minimal Debian (debootstrap, ${MIRROR})\n`)
  await rm(system, { recursive: true, force: true })
  const args = ['--variant=minbase', '--include=ca-certificates', 'bookworm', system, MIRROR]
  await execute('debootstrap', args, { maxBuffer: 16 * 1024 * 1024 })
  await execute('sh', ['-c', 'rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*', 'sh', system])
  await execute('sh', ['-c', 'tar -C "$1" -c . | "$2" import - prove/debian', 'sh', system, DOCKER])
  await rm(system, { recursive: true })
}

/** The programs that the Dockerfile of the stand-ins copies. Debian has Redis. */
const programs: Partial<Record<StandIn, (context: string) => Promise<void>>> = {
  async node(context) {
    await cp(certificates(), join(context, 'certificates.crt'), { dereference: true })
    await cp(await realpath(process.execPath), join(context, 'node'))
    await cp(await npmFolder(), join(context, 'npm'), { recursive: true })
  },
  async nats(context) {
    await cp(await goProgram(NATS), join(context, 'nats-server'))
  },
  async postgres(context) {
    const postgres = await embeddedBinaries()
    if (!postgres) throw new Error(`npm has no PostgreSQL for ${process.platform}-${process.arch}`)
    await cp(dirname(postgres), join(context, 'postgres'), { recursive: true, verbatimSymlinks: true })
  },
}

/** The authorities that this machine trusts, its own included: builds reach the registry by the same way. */
function certificates(): string {
  const files = [process.env['NODE_EXTRA_CA_CERTS'], '/etc/ssl/certs/ca-certificates.crt']
  const found = files.find((file) => file !== undefined && existsSync(file))
  if (!found) throw new Error('install the package ca-certificates')
  return found
}

async function npmFolder(): Promise<string> {
  const npm = findProgram('npm')
  if (!npm) throw new Error('npm is not on the path')
  return dirname(dirname(await realpath(npm)))
}

export function imageOf(target: Target, version: string): string {
  return `model-gateway/${target}:${version}`
}

export async function build(args: string[]): Promise<void> {
  const child = spawn(DOCKER, ['build', '--network', 'host', '--progress', 'plain', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, DOCKER_BUILDKIT: '1' },
  })
  let words = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-8_192)))
  }
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`docker build ${args.join(' ')} failed:\n${words}`)
}
