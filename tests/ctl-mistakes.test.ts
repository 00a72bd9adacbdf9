/**
 * `npm run ctl` in a hurry: mistyped, into a pipe that closes, beside files that a killed gateway left.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { openNatsBus } from '@gateway/bus/nats'
import { openConfigSource } from '@gateway/config/config-source'
import { procedures } from '@gateway/contracts/bus-roles'
import { SIMULATED_BACKEND_VARIABLE } from '@gateway/contracts/default-config'
import { usageStream } from '@gateway/contracts/subjects'
import { OPERATOR_SOCKET, openAdminSocket } from '@gateway/rpc/admin-socket'
import { startNats } from '@gateway/servers/start'
import { createLogger } from '@gateway/telemetry/logger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRouter } from '../services/router/src/start.ts'
import { bareEnvironment } from './promises/bare-environment.ts'
import { runCtl } from './promises/run-ctl.ts'

const MAIN = resolve(import.meta.dirname, '../packages/ctl/src/main.ts')

const stack = new AsyncDisposableStack()
let directory: string
let dataDir: string
/** A router behind an operator's door: of a whole gateway, commands that fail need no more. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gateway-ctl-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  dataDir = await mkdtemp(join(directory, 'data-'))
  const logger = createLogger({ service: 'test', level: 'silent' })
  const hub = createMemoryHub({ streams: [usageStream] })
  const bus = stack.use(await openMemoryBus({ hub }))
  const config = stack.use(await openConfigSource({ logger }))
  const environment = { [SIMULATED_BACKEND_VARIABLE]: 'http://127.0.0.1:9/v1' }
  stack.use(await startRouter({ bus, config, environment, logger }))
  const door = stack.use(await openMemoryBus({ hub }))
  stack.use(await openAdminSocket({ path: join(dataDir, OPERATOR_SOCKET), bus: door, logger }))
})
afterAll(() => stack.disposeAsync())

const fileWith = async (name: string, text: string) => {
  const path = join(directory, name)
  await writeFile(path, text)
  return path
}

/** Of a mistake: exit code 1, words, and no stack. */
async function expectWords(args: string[], environment: Record<string, string> = {}): Promise<string> {
  const { code, out, err } = await runCtl(args, { DATA_DIR: dataDir, ...environment })
  expect({ code, out, err }).toEqual({ code: 1, out: '', err: expect.stringMatching(/\S/) })
  expect(err).not.toMatch(/\n {4}at |\[object /)
  return err
}

test.each<[string]>([
  ['nonsense'],
  [''],
  ['accounts'],
  ['accounts frob'],
  ['accounts show'],
  ['accounts show a b'],
  ['accounts show nobody'],
  ['accounts set-plan nobody free'],
  ['accounts set-overage nobody maybe'],
  ['accounts top-up nobody lots'],
  ['accounts top-up nobody 1e400'],
  ['accounts top-up nobody 1e300'],
  ['accounts top-up nobody 5 --id nonsense'],
  ['usage --top 0'],
  ['usage --from yesterday'],
  ['usage --from 2026-02-01 --to 2026-01-01'],
  ['usage --from 0001-01-01'],
  ['usage --account nobody --by week'],
  ['usage --by model'],
  ['keys revoke nonsense'],
  ['backends frob'],
  ['backends probe'],
  ['backends probe gpu-a'],
  ['backends probe --url nonsense'],
  ['backends probe --url ftp://127.0.0.1/'],
  ['backends probe --url http://127.0.0.1:1/v1'],
  ['backends probe --url http://127.0.0.1:1/v1 --dialect cohere'],
  ['config check'],
  ['config check /nonexistent'],
  ['config check /'],
  ['config import litellm /nonexistent'],
  ['prices refresh /nonexistent'],
  ['reconcile --frob'],
])('`ctl %s` is refused in words', async (line) => {
  await expectWords(line.split(' ').filter(Boolean))
})

test.each(['0x10', '1e3', '0b1', '', ' 5', '-5', '1,000', 'Infinity'])('%j is no amount and no count', async (text) => {
  expect(await expectWords(['accounts', 'top-up', 'nobody', '--', text])).toMatch(/^an amount is a number above 0 /)
  expect(await expectWords(['usage', `--top=${text}`])).toMatch(/^--top is a whole number from 1 to 1000/)
})

test('so is an argument of nothing', async () => {
  expect(await expectWords(['accounts', 'show', ''])).toMatch(/^subject: /)
  expect(await expectWords(['accounts', 'top-up', 'nobody', '5', '--id', 'nonsense'])).toMatch(/^id: Invalid UUID/)
})

test('so are files that hold anything', async () => {
  const files = {
    alias: 'model_list: *nothing\n',
    inside: 'model_list: &a [*a]\n',
    scalar: 'just words\n',
    nested: '['.repeat(20_000),
  }
  for (const [name, text] of Object.entries(files)) {
    const path = await fileWith(name, text)
    for (const args of [
      ['config', 'check', path],
      ['config', 'import', 'litellm', path],
      ['prices', 'refresh', path, '--url', 'http://127.0.0.1:1/'],
    ]) {
      const { code, out, err } = await runCtl(args, {})
      expect(`${args.join(' ')}: ${out}${err}`).not.toMatch(/\n {4}at /)
      expect([0, 1, 2]).toContain(code)
    }
    expect(await runCtl(['config', 'check', path], {})).toMatchObject({ code: 2 })
  }
})

test('a NATS server that is away, silent or none ends the command, which explains it in words', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const urls = ['nats://127.0.0.1:1', `nats://127.0.0.1:${port}`, 'nonsense']
  const reported = await Promise.all(urls.map((url) => expectWords(['backends'], { NATS_URL: url })))
  for (const words of reported) expect(words).toMatch(/^the NATS server cannot be used: /)
  silent.close()
})

test.each([
  ['says nothing', ''],
  ['stops in the middle of its response', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'],
])('a gateway that %s ends the command, which explains it in words', async (_, said) => {
  const hung = await mkdtemp(join(directory, 'hung-'))
  const sockets = new Set<Socket>()
  const gateway = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.once('data', () => socket.write(said))
  }).listen(join(hung, OPERATOR_SOCKET))
  await once(gateway, 'listening')
  await using _closing = { [Symbol.asyncDispose]: async () => void gateway.close() }
  using _cutting = { [Symbol.dispose]: () => sockets.forEach((socket) => void socket.destroy()) }
  const words = await expectWords(['accounts', 'top-up', 'somebody', '5'], { DATA_DIR: hung })
  expect(words).toMatch(/^the gateway on .*hung-\w+ does not respond within 15 s; a change may hold all the same/)
  expect(words).toMatch(/\nto repeat it safely: --id [0-9a-f-]{36}$/m)
})

test('a NATS server that falls silent after the request ends the command, which explains it in words', async () => {
  await using nats = await startNats({ own: true })
  await using bus = await openNatsBus({ url: nats.url, name: 'hung' })
  const requested = Promise.withResolvers<void>()
  const silence = async () => {
    requested.resolve()
    await nats.kill('SIGSTOP')
    return new Promise<never>(() => {})
  }
  await using _serving = await bus.serve(procedures.routersShow.subject, 'routers', silence)
  const reported = expectWords(['backends'], { NATS_URL: nats.url })
  await requested.promise
  expect(await reported).toMatch(/^no service responds to routers\.show/)
  await nats.kill('SIGCONT')
})

test('the gateway that runs is found beside the record of a cluster that was killed', async () => {
  const stale = JSON.stringify({ servers: { nats: { url: 'nats://127.0.0.1:1' } } })
  for (const text of [stale, '{', 'null']) {
    await writeFile(join(dataDir, 'cluster.json'), text)
    expect(await runCtl(['backends'], { DATA_DIR: dataDir })).toMatchObject({ code: 0 })
  }
  await rm(join(dataDir, 'cluster.json'))
  const broken = await mkdtemp(join(directory, 'cluster-'))
  await writeFile(join(broken, 'cluster.json'), '{')
  expect(await expectWords(['backends'], { DATA_DIR: broken })).toContain('cluster.json')
})

test('a reader that leaves early is no failure, and the exit code stays', async () => {
  const many = Array.from({ length: 3_000 }, (_, index) => `field_${index}_${'x'.repeat(100)}: 1`).join('\n')
  const path = await fileWith('many.yaml', many)
  const environment = { ...bareEnvironment(), CTL: MAIN, FILE: path, NODE: process.execPath }
  for (const format of ['', '--json']) {
    const line = `"$NODE" "$CTL" ${format} config check "$FILE" 2>err | head -n 1 >/dev/null; echo "\${PIPESTATUS[0]}"; cat err`
    const shell = spawn('bash', ['-c', line], {
      env: environment,
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
    await once(shell, 'close')
    expect(said).toBe('2\n')
  }
})

test('`--help` of every command succeeds', async () => {
  for (const words of [
    '',
    'accounts',
    'accounts show',
    'usage',
    'keys',
    'backends',
    'backends probe',
    'config check',
  ]) {
    const { code, out, err } = await runCtl([...words.split(' ').filter(Boolean), '--help'], {})
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^Usage: ctl/)
  }
})

test('the remains of a killed gateway are not taken for one that runs', async () => {
  const left = await mkdtemp(join(directory, 'left-'))
  const listen = `require('node:net').createServer().listen(${JSON.stringify(join(left, OPERATOR_SOCKET))}, () => console.log('heard'))`
  const killed = spawn(process.execPath, ['-e', listen], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(killed.stdout, 'data')
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  expect(await expectWords(['backends'], { DATA_DIR: left })).toContain('no gateway runs')
})
