import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { promiseAllowance } from './promises/allowance.ts'
import { promiseResponses } from './promises/responses.ts'
import { promiseFailover } from './promises/failover.ts'
import {
  type Address,
  userMessages,
  callerWith,
  configFor,
  type OperatedGateway,
  mintGuest,
  newDeveloper,
  newGuest,
  quotaOf,
  startBackends,
} from './promises/gateway.ts'
import { promiseIdempotency } from './promises/idempotency.ts'
import { promiseKeys } from './promises/keys.ts'
import { promiseLimits } from './promises/limits.ts'
import { startLoad } from './promises/load.ts'
import { promiseMetering } from './promises/metering.ts'
import { promiseReference } from './promises/reference.ts'
import { promiseRefusals } from './promises/refusals.ts'
import { promiseUsage } from './promises/usage.ts'
import { startStandalone, type Standalone } from './promises/standalone.ts'

const run = promisify(execFile)

describe('the gateway in one process, on backends that we control', () => {
  const stack = new AsyncDisposableStack()
  let gateway: OperatedGateway
  beforeAll(async () => {
    const backends = await startBackends(stack)
    const standalone = stack.use(
      await startStandalone({ config: configFor(backends), environment: { TRUST_PROXY: 'loopback' } }),
    )
    const { url, issuer, dataDir } = standalone
    gateway = { urls: [url], issuer, backends, dataDir }
  })
  afterAll(() => stack.disposeAsync())

  promiseResponses(() => gateway)
  promiseRefusals(() => gateway)
  promiseKeys(() => gateway)
  promiseIdempotency(() => gateway)
  promiseMetering(() => gateway)
  promiseUsage(() => gateway)
  promiseReference(() => gateway)
  promiseLimits(() => gateway)
  promiseAllowance(() => gateway)
  promiseFailover(() => gateway)
})

describe('npm start, as a newcomer meets it', () => {
  const stack = new AsyncDisposableStack()
  let standalone: Standalone
  let gateway: Address
  beforeAll(async () => {
    standalone = stack.use(await startStandalone())
    gateway = { urls: [standalone.url], issuer: standalone.issuer }
  })
  afterAll(() => stack.disposeAsync())

  test('the printed curl works as printed', async () => {
    const printed = standalone.output.slice(standalone.output.indexOf('Try it:') + 'Try it:'.length)
    const { stdout } = await run('sh', ['-ec', printed.slice(0, printed.lastIndexOf('}') + 2)])
    expect(JSON.parse(stdout)).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: expect.stringContaining('Hello!') } }],
    })
  })

  test('killed with -9 and started again, it knows its keys and their usage', async () => {
    const developer = await newDeveloper(gateway)
    const { usage } = await developer.client.chat.completions.create({
      model: 'svc-core',
      messages: userMessages('Say: remember me'),
    })
    const minted = (await (await mintGuest(gateway, 'a-device')).json()) as { key: string }

    expect(await standalone.stop('SIGKILL')).toBe('SIGKILL')
    await standalone.restart()

    expect((await quotaOf(developer, gateway.urls[0])).used).toBe(usage!.total_tokens * 3.75)
    expect(await (await mintGuest(gateway, 'a-device')).json()).toEqual(minted)
    const reply = await developer.client.chat.completions.create({
      model: 'svc-core',
      messages: userMessages('Say: still here'),
    })
    expect(reply.choices[0]!.message.content).toBe('still here')
  })

  test('killed with -9 under load, it has every response that a client got, once', async () => {
    const developer = await newDeveloper(gateway)
    // The default plan's limits let a few dozen pass.
    const load = startLoad(gateway, [developer.key], { model: 'svc-instant', clients: 4 })
    await expect.poll(() => load.outcomes.filter(({ completed }) => completed).length).toBeGreaterThan(15)
    await standalone.stop('SIGKILL')
    await load.stop()
    await standalone.restart()
    const got = load.outcomes.reduce((total, { tokens }) => total + tokens, 0)
    const { used } = await quotaOf(developer, gateway.urls[0])
    expect(used).toBeGreaterThanOrEqual(got)
    // The four requests that were running may have been metered without their clients seeing the end.
    expect(used).toBeLessThanOrEqual(got + 4 * 300)
  })

  test('killed with -9 in the middle of a stream, it bills no more than the generated tokens', async () => {
    const guest = await newGuest(gateway)
    const request = { model: 'svc-instant', messages: userMessages('5000 words'), stream: true as const }
    const reading = (async () => {
      for await (const chunk of await guest.client.chat.completions.create(request)) {
        if (chunk.choices[0]?.delta.content) await standalone.stop('SIGKILL')
      }
    })()
    await expect(reading).rejects.toThrow()
    await standalone.restart()
    expect((await quotaOf(guest, gateway.urls[0])).used).toBeLessThan(6_000)
    const again = callerWith(gateway, guest.key)
    await expect(
      again.client.chat.completions.create({ model: 'svc-instant', messages: userMessages('Say: yes') }),
    ).resolves.toBeDefined()
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('%s ends it in good order, and it starts again', async (signal) => {
    expect(await standalone.stop(signal)).toBe(0)
    await standalone.restart()
    await expect(newGuest(gateway)).resolves.toBeDefined()
  })
})

test('the curl that npm start prints succeeds, and a signal to npm ends all of it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'))
  const port = await freePort()
  const environment = { ...process.env, PORT: String(port), DATA_DIR: join(directory, 'data') }
  const npm = spawn('npm', ['start'], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let output = ''
    npm.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()))
    await expect.poll(() => output).toContain('Try it:')
    const { stdout } = await run('sh', ['-ec', output.slice(output.indexOf('Try it:') + 'Try it:'.length)])
    expect(JSON.parse(stdout)).toMatchObject({ object: 'chat.completion' })
    const ended = once(npm, 'exit')
    npm.kill('SIGTERM')
    await ended
    const replies = () =>
      fetch(`http://127.0.0.1:${port}/v1/models`).then(
        () => true,
        () => false,
      )
    await expect.poll(replies).toBe(false)
    expect(existsSync(join(directory, 'data', 'postgres', 'postmaster.pid'))).toBe(false)
  } finally {
    npm.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true })
  }
})
