/**
 * Mistakes of a first day: each ends the start with words that name the place and the remedy, without a stack.
 */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bareEnvironment } from './promises/bare-environment.ts'
import { startStandalone, type Standalone } from './promises/standalone.ts'

const run = promisify(execFile)
const ADDRESS = 'http://127.0.0.1:8080'

describe('a start that is impossible is explained in words', () => {
  const stack = new AsyncDisposableStack()
  let directory: string
  let first: Standalone
  let takenPort: number
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'gateway-first-day-'))
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    first = stack.use(await startStandalone())
    const other = createServer().listen(0, '127.0.0.1')
    stack.defer(() => void other.close())
    await once(other, 'listening')
    takenPort = (other.address() as AddressInfo).port
  })
  afterAll(() => stack.disposeAsync())

  /** A file of the data folder, as an accident has left it. */
  const dataWith = async (path: string, text: string) => {
    const dataDir = await mkdtemp(join(directory, 'data-'))
    await mkdir(join(dataDir, path, '..'), { recursive: true })
    await writeFile(join(dataDir, path), text)
    return dataDir
  }

  test.each<[string, () => Promise<Record<string, string>>, RegExp]>([
    ['a taken port', async () => ({ PORT: String(takenPort) }), /PORT .* is taken .* set PORT to a free port/],
    ['a taken health port', async () => ({ HEALTH_PORT: String(takenPort) }), /set HEALTH_PORT to a free port/],
    ['the last port', async () => ({ PORT: '65535', HEALTH_PORT: '' }), /set HEALTH_PORT to one up to 65535/],
    ['a host elsewhere', async () => ({ HOST: '192.0.2.1' }), /192\.0\.2\.1 is no address of this machine; set HOST/],
    ['unknown proxies', async () => ({ TRUST_PROXY: 'my-proxy' }), /TRUST_PROXY {2}must name addresses/],
    [
      'a data folder in use',
      async () => ({ DATA_DIR: first.dataDir }),
      /\(DATA_DIR\) .* is in use by process \d+: stop/,
    ],
    [
      'a data folder that is a file',
      async () => ({ DATA_DIR: await aFile() }),
      /\(DATA_DIR\) cannot be used: .*EEXIST/,
    ],
    [
      'a data folder that cannot be made',
      async () => ({ DATA_DIR: join(await aFile(), 'data') }),
      /\(DATA_DIR\) cannot be used: ENOTDIR/,
    ],
    [
      'an emptied master secret',
      async () => ({ DATA_DIR: await dataWith('master-secret', '') }),
      /master-secret is empty: put the master secret back/,
    ],
    [
      'a database that PostgreSQL cannot open',
      async () => ({ DATA_DIR: await dataWith('postgres/data/PG_VERSION', '9\n') }),
      /\(DATA_DIR\) cannot be used/,
    ],
    [
      'broken keys of the development identity provider',
      async () => ({ DATA_DIR: await dataWith('identity-keys.json', '{"keys":') }),
      /identity-keys\.json .*remove the file/,
    ],
    ['a config file that is a folder', async () => ({ GATEWAY_CONFIG: directory }), /cannot be read.*GATEWAY_CONFIG/],
  ])('%s', async (_, environment, words) => {
    const start = startStandalone({ environment: await environment() })
    const output = await start.then(
      (started) => started[Symbol.asyncDispose]().then(() => 'it started'),
      (error: Error) => error.message,
    )
    expect(output).toMatch(words)
    expect(output).not.toMatch(/\n {4}at /)
  })

  test("README's curl and both of its programs run as printed, one after the other, in one terminal", async () => {
    const readme = await readFile('README.md', 'utf8')
    const blocks = [...readme.matchAll(/^```(sh|ts)\n(.*?)^```/gms)].map(([, language, text]) => ({
      language,
      text: text!,
    }))
    const curl = blocks.find(({ text }) => text.includes('KEY=$('))!.text
    const programs = blocks.filter(({ language }) => language === 'ts').map(({ text }) => text)
    const given = `import OpenAI from 'openai'; const messages = [{ role: 'user', content: 'Hi' }], documentId = 1;\n`
    const complete = programs.map((text) => (text.includes('import OpenAI') ? text : given + text))
    const files = complete.map((_, index) => join(process.cwd(), `.artifacts/readme-${process.pid}-${index}.ts`))
    await mkdir('.artifacts', { recursive: true })
    for (const [index, text] of complete.entries()) await writeFile(files[index]!, text.replaceAll(ADDRESS, first.url))
    const lines = [curl.replaceAll(ADDRESS, first.url), ...files.map((file) => `echo; "$NODE" ${file}`)]
    const environment = { ...bareEnvironment(), NODE: process.execPath }
    try {
      const { stdout } = await run('sh', ['-ec', lines.join('\n')], { env: environment })
      expect(programs).toHaveLength(2)
      expect(stdout.match(/This is the simulated backend/g)).toHaveLength(2)
    } finally {
      for (const file of files) await rm(file)
    }
  })

  test('and none of them has hurt the gateway that runs', async () => {
    expect((await fetch(`${first.url}/v1/models`)).status).toBe(200)
    expect(await readFile(join(first.dataDir, 'master-secret'), 'utf8')).not.toBe('')
  })

  async function aFile(): Promise<string> {
    const path = join(directory, 'a-file')
    await writeFile(path, '')
    return path
  }
})

test('on a free port of its own choice, every address that it names is its own', async () => {
  await using started = await startStandalone({ environment: { PORT: '0', HEALTH_PORT: '' } })
  const url = /is ready at (\S+)/.exec(started.output)![1]!
  const config = await (await fetch(`${url}/console/config.json`)).json()
  expect(config).toMatchObject({ gatewayUrl: url, consoleUrl: `${url}/console` })
  const health = /health +(\S+)/.exec(started.output)![1]!
  expect((await fetch(health)).status).toBe(200)
})

test('a gateway whose output cannot be written, since the disk is full, starts and serves all the same', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'))
  const port = await freePort()
  const environment = {
    ...bareEnvironment(),
    PORT: String(port),
    DATA_DIR: join(directory, 'data'),
    HEALTH_PORT: '0',
    LOG_LEVEL: 'trace',
  }
  const full = await open('/dev/full', 'w')
  const gateway = spawn(process.execPath, ['services/standalone/src/main.ts'], {
    env: environment,
    stdio: ['ignore', full.fd, 'inherit'],
  })
  const exited = once(gateway, 'exit')
  try {
    const status = () =>
      fetch(`http://127.0.0.1:${port}/v1/models`).then(
        (response) => response.status,
        () => gateway.exitCode,
      )
    await expect.poll(status).not.toBeNull()
    expect(await status()).toBe(200)
    gateway.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  } finally {
    gateway.kill('SIGKILL')
    await full.close()
    await rm(directory, { recursive: true, force: true })
  }
})
