import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { promiseAnswers } from './promises/answers.ts'
import { promiseFailover } from './promises/failover.ts'
import {
  type Address,
  ask,
  callerWith,
  configFor,
  type Gateway,
  mintGuest,
  newDeveloper,
  newGuest,
  quotaOf,
  startBackends,
} from './promises/gateway.ts'
import { promiseKeys } from './promises/keys.ts'
import { promiseLimits } from './promises/limits.ts'
import { promiseMetering } from './promises/metering.ts'
import { promiseRefusals } from './promises/refusals.ts'
import { startStandalone, type Standalone } from './promises/standalone.ts'

const run = promisify(execFile)

describe('the gateway in one process, on backends that we control', () => {
  const stack = new AsyncDisposableStack()
  let gateway: Gateway
  beforeAll(async () => {
    const backends = await startBackends(stack)
    const standalone = stack.use(
      await startStandalone({ config: configFor(backends), environment: { TRUST_PROXY: 'loopback' } }),
    )
    gateway = { urls: [standalone.url], issuer: standalone.issuer, backends }
  })
  afterAll(() => stack.disposeAsync())

  promiseAnswers(() => gateway)
  promiseRefusals(() => gateway)
  promiseKeys(() => gateway)
  promiseMetering(() => gateway)
  promiseLimits(() => gateway)
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

  test('killed with -9 and started again, it knows its keys and what they used', async () => {
    const developer = await newDeveloper(gateway)
    const { usage } = await developer.client.chat.completions.create({
      model: 'svc-core',
      messages: ask('Say: remember me'),
    })
    const minted = (await (await mintGuest(gateway, 'a-device')).json()) as { key: string }

    expect(await standalone.stop('SIGKILL')).toBe('SIGKILL')
    await standalone.restart()

    expect((await quotaOf(developer, gateway.urls[0])).used).toBe(usage!.total_tokens * 3.75)
    expect(await (await mintGuest(gateway, 'a-device')).json()).toEqual(minted)
    const answer = await developer.client.chat.completions.create({
      model: 'svc-core',
      messages: ask('Say: still here'),
    })
    expect(answer.choices[0]!.message.content).toBe('still here')
  })

  test('killed with -9 in the middle of a stream, it bills no more than what was made', async () => {
    const guest = await newGuest(gateway)
    const request = { model: 'svc-instant', messages: ask('5000 words'), stream: true as const }
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
      again.client.chat.completions.create({ model: 'svc-instant', messages: ask('Say: yes') }),
    ).resolves.toBeDefined()
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('%s ends it in good order, and it starts again', async (signal) => {
    expect(await standalone.stop(signal)).toBe(0)
    await standalone.restart()
    await expect(newGuest(gateway)).resolves.toBeDefined()
  })
})
