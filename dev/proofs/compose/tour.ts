/**
 * A reader's first tries of the gateway that Compose has started.
 */

import { parseKey } from '@gateway/contracts/api-key'
import { userMessages, newDeveloper, newGuest, quotaOf, send } from '../../../tests/promises/gateway.ts'
import { step } from '../engine/steps.ts'
import { PRESENT, type Project } from './project.ts'

const EDGE = 'http://127.0.0.1:8080'
export const GATEWAY = { urls: [EDGE] as const, issuer: 'http://127.0.0.1:8082' }
export const MODEL = 'svc-instant'
/** Requests a minute of the compose file's guests. */
const GUEST_REQUESTS = 10

export async function tour(project: Project): Promise<void> {
  const developer = await step(
    'sign in, and issue a key',
    () => newDeveloper(GATEWAY),
    () => 'by the identity provider',
  )
  await step('chat', async () => {
    const response = await developer.client.chat.completions.create({
      model: MODEL,
      messages: userMessages('Say: hello'),
    })
    expectEqual(response.choices[0]?.message.content, 'hello')
    return `${response.usage?.total_tokens} tokens`
  })
  await step('stream', async () => {
    const request = { model: MODEL, messages: userMessages('40 words'), stream: true as const }
    const withUsage = { ...request, stream_options: { include_usage: true } }
    let pieces = 0
    let tokens = 0
    for await (const chunk of await developer.client.chat.completions.create(withUsage)) {
      pieces++
      tokens += chunk.usage?.completion_tokens ?? 0
    }
    if (pieces < 10 || tokens < 40) throw new Error(`${pieces} pieces, ${tokens} tokens`)
    return `${tokens} tokens in ${pieces} pieces`
  })
  await step('docker compose run ctl', async () => {
    await putOnPlan(project, developer.key)
    const { planSlug, used } = await quotaOf(developer, EDGE)
    expectEqual(planSlug, 'pro')
    if (!(used > 0)) throw new Error(`used: ${used}`)
    return `the quota names the new plan, ${used} tokens used`
  })
  await step('a limit', async () => {
    const { key } = await newGuest(GATEWAY)
    const statuses: number[] = []
    for (let count = 0; count <= GUEST_REQUESTS; count++) {
      const body = { model: MODEL, messages: userMessages('Say: hi') }
      statuses.push((await send(EDGE, '/v1/chat/completions', { key, body })).status)
    }
    expectEqual(statuses.join(), [...Array<number>(GUEST_REQUESTS).fill(200), 429].join())
    return `a guest's request ${statuses.length} in a minute gets 429`
  })
  await step('console', async () => {
    const page = await (await fetch(`${EDGE}/console/`)).text()
    const script = /<script[^>]* src="([^"]+)"/.exec(page)?.[1]
    const { status, headers } = await fetch(new URL(script ?? '', `${EDGE}/console/`))
    expectEqual(`${status} ${headers.get('content-type')?.split(';')[0]}`, '200 text/javascript')
    return 'the page and its script'
  })
}

/** Sets the plan as an operator does, with the image of the command line. */
export async function putOnPlan({ compose }: Project, key: string): Promise<void> {
  await compose(PRESENT, 'run', '--rm', '--no-deps', 'ctl', 'accounts', 'set-plan', parseKey(key)!.accountTag, 'pro')
}

function expectEqual(actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`expected ${String(expected)}, got ${String(actual)}`)
}
