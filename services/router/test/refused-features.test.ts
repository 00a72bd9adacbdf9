/**
 * Coding tools send every flag and member of Anthropic's own API. A server of the API that knows fewer of them serves such a
 * client all the same. The client reads which ones it has lost, and the next request does without them at once.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JobHeader } from '@gateway/contracts/job'
import { good } from './dialect-backends.ts'
import { sendJson, type Reply, type SeenRequest } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const FLAGS = [
  'claude-code-20250219',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'prompt-caching-scope-2026-01-05',
  'user-profiles-2026-03-01',
]
/** Each member with the request that holds it. */
const MEMBERS: Record<string, object> = {
  context_management: { context_management: { edits: [] } },
  'output_config.effort': { output_config: { effort: 'high' } },
  'tools.defer_loading': { tools: [{ name: 'look', input_schema: {}, defer_loading: true }] },
  'cache_control.scope': {
    system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', scope: 'global' } }],
  },
}
/** The paths by which a server names them. */
const PATHS: Record<string, string> = {
  'tools.defer_loading': 'tools.0.custom.defer_loading',
  'cache_control.scope': 'system.0.cache_control.ephemeral.scope',
}

interface Server {
  flags: string[]
  members: string[]
  /** Bedrock's does not. */
  namesFlags: boolean
  /** It takes a member with this flag alone, as Anthropic's own API does. */
  flagOf?: Record<string, string>
}

const flagsIn = ({ headers }: SeenRequest) => String(headers['anthropic-beta'] ?? '').split(',')
const lastStep = (member: string) => `"${member.split('.').at(-1)}"`

/** A server that takes no others. */
function strict({ flags, members, namesFlags, flagOf = {} }: Server): Reply {
  return (response, request, socket) => {
    const refuse = (message: string) =>
      sendJson(response, 400, { type: 'error', error: { type: 'invalid_request_error', message } })
    const wrong = flagsIn(request).filter((flag) => flag !== '' && !flags.includes(flag))
    if (wrong.length > 0) {
      const names = wrong.map((flag) => `\`${flag}\``).join(', ')
      return refuse(
        namesFlags ? `Unexpected value(s) ${names} for the \`anthropic-beta\` header.` : 'invalid beta flag',
      )
    }
    const isTaken = (member: string) =>
      members.includes(member) && (flagOf[member] === undefined || flagsIn(request).includes(flagOf[member]))
    const extra = Object.keys(MEMBERS).find((one) => !isTaken(one) && request.text.includes(lastStep(one)))
    if (extra !== undefined) return refuse(`${PATHS[extra] ?? extra}: Extra inputs are not permitted`)
    return good('messages')(response, request, socket)
  }
}

const native = { dialect: 'anthropic', dialects: ['messages'] }
const bodyOf = (members: readonly string[]): object => ({
  max_tokens: 50,
  messages: [{ role: 'user', content: 'Say hello' }],
  ...Object.assign({}, ...members.map((member) => MEMBERS[member])),
})
const headerOf = (flags: readonly string[]): Partial<JobHeader> => ({
  dialect: 'messages',
  ...(flags.length > 0 && { anthropicBeta: flags.join(',') }),
})

const server = fc.record<Server>({
  flags: fc.subarray(FLAGS),
  members: fc.subarray(Object.keys(MEMBERS)),
  namesFlags: fc.constant(true),
})
const request = fc.record({
  flags: fc.subarray(FLAGS),
  members: fc.subarray(Object.keys(MEMBERS)),
  stream: fc.boolean(),
})

describe('the only server of a model', () => {
  test('serves every request with the features that it takes, each lost one is named, and the next one like it loses no time', async () => {
    await fc.assert(
      fc.asyncProperty(server, fc.array(request, { minLength: 1, maxLength: 4 }), async (taken, requests) => {
        const only = await backend(strict(taken))
        const under = await router(poolOver([only.url], { backend: native }))
        for (const { flags, members, stream } of requests) {
          const lost = [
            ...flags.filter((flag) => !taken.flags.includes(flag)).map((flag) => `anthropic-beta.${flag}`),
            ...members.filter((member) => !taken.members.includes(member)),
          ]
          const job = await under.sendRequest({ ...headerOf(flags), stream }, bodyOf(members))
          expect(job.failure).toBeNull()
          expect((job.head!.droppedParams ?? []).toSorted()).toEqual(lost.toSorted())
          const seen = only.seen.at(-1)!
          expect(flagsIn(seen).filter((flag) => flag !== '')).toEqual(
            flags.filter((flag) => taken.flags.includes(flag)),
          )
          for (const member of members)
            expect(seen.text.includes(lastStep(member))).toBe(taken.members.includes(member))
          const again = await under.sendRequest({ ...headerOf(flags), stream }, bodyOf(members))
          expect(again.end!.attempts).toHaveLength(1)
          expect(again.head!.droppedParams).toEqual(job.head!.droppedParams)
        }
      }),
      { numRuns: 40 },
    )
  })

  test('that names no flag gets none of them', async () => {
    const only = await backend(strict({ flags: [], members: [], namesFlags: false }))
    const under = await router(poolOver([only.url], { backend: native }))
    for (const attempts of [2, 1]) {
      const job = await under.sendRequest(headerOf(FLAGS.slice(0, 2)), bodyOf([]))
      expect(job.end?.attempts).toHaveLength(attempts)
      expect(job.head!.droppedParams).toEqual(FLAGS.slice(0, 2).map((flag) => `anthropic-beta.${flag}`))
    }
    expect(only.seen.at(-1)!.headers).not.toHaveProperty('anthropic-beta')
  })

  test('that refuses every form of a request is left after a few attempts, with its own words', async () => {
    let flag = 0
    const only = await backend((response) =>
      sendJson(response, 400, {
        error: { message: `Unexpected value(s) \`flag-${flag++}\` for the \`anthropic-beta\` header.` },
      }),
    )
    const under = await router(poolOver([only.url], { backend: native }))
    const flags = Array.from({ length: 50 }, (_, index) => `flag-${index}`)
    const { failure } = await under.sendRequest(headerOf(flags), bodyOf([]))
    expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', targetError: { status: 400 } })
    expect(only.seen).toHaveLength(9)
  })

  test("that refuses the operator's own flag refuses the request: nobody else may leave that out", async () => {
    const only = await backend(strict({ flags: [], members: [], namesFlags: true }))
    const backends = [{ headers: { 'anthropic-beta': FLAGS[0] } }]
    const under = await router(poolOver([only.url], { backend: native, backends }))
    const { failure } = await under.sendRequest(headerOf([]), bodyOf([]))
    expect(failure).toMatchObject({ code: 'BACKEND_REFUSED' })
    expect(only.seen).toHaveLength(1)
  })
})

test('the refusals of one target change no request to another', async () => {
  const poor = await backend(strict({ flags: [], members: [], namesFlags: true }))
  const rich = await backend(strict({ flags: FLAGS, members: Object.keys(MEMBERS), namesFlags: true }))
  const under = await router(poolOver([poor.url, rich.url], { backend: native, backends: [{ maxConcurrent: 1 }] }))
  await under.sendRequest(headerOf(FLAGS), bodyOf(['context_management']))
  poor.reply = (response) => sendJson(response, 503, {})
  const job = await under.sendRequest(headerOf(FLAGS), bodyOf(['context_management']))
  expect(job.head).not.toHaveProperty('droppedParams')
  expect(flagsIn(rich.seen.at(-1)!)).toEqual(FLAGS)
})

describe('the requests of one client teach nothing wrong about those of another', () => {
  const PAIRS = { context_management: FLAGS[2]!, 'cache_control.scope': FLAGS[3]! }

  test('a member whose flag one client leaves out reaches the server from a client that sends it', async () => {
    const only = await backend(strict({ flags: FLAGS, members: Object.keys(MEMBERS), namesFlags: true, flagOf: PAIRS }))
    const under = await router(poolOver([only.url], { backend: native }))
    const without = await under.sendRequest(headerOf([]), bodyOf(['context_management']))
    expect(without.head!.droppedParams).toEqual(['context_management'])
    const complete = await under.sendRequest(headerOf(FLAGS), bodyOf(['context_management']))
    expect(complete.head).not.toHaveProperty('droppedParams')
    expect(only.seen.at(-1)!.text).toContain('context_management')
  })

  test('each request loses the features that the server refuses of it, and no others, in any order of any clients', async () => {
    await fc.assert(
      fc.asyncProperty(server, fc.array(request, { minLength: 2, maxLength: 8 }), async (taken, requests) => {
        const only = await backend(strict({ ...taken, flagOf: PAIRS }))
        const under = await router(poolOver([only.url], { backend: native }))
        for (const { flags, members, stream } of requests) {
          const sent = flags.filter((flag) => taken.flags.includes(flag))
          const pairOf = (member: string) => (PAIRS as Record<string, string>)[member]
          const isTaken = (member: string) =>
            taken.members.includes(member) && (pairOf(member) === undefined || sent.includes(pairOf(member)!))
          const lost = [
            ...flags.filter((flag) => !sent.includes(flag)).map((flag) => `anthropic-beta.${flag}`),
            ...members.filter((member) => !isTaken(member)),
          ]
          const job = await under.sendRequest({ ...headerOf(flags), stream }, bodyOf(members))
          expect(job.failure).toBeNull()
          expect((job.head!.droppedParams ?? []).toSorted()).toEqual(lost.toSorted())
        }
      }),
      { numRuns: 60 },
    )
  })

  test('a server that names no flag gets all flags of a request of which it takes all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.subarray(FLAGS), fc.array(fc.subarray(FLAGS), { maxLength: 6 }), async (flags, requests) => {
        const only = await backend(strict({ flags, members: [], namesFlags: false }))
        const under = await router(poolOver([only.url], { backend: native }))
        for (const sent of requests) {
          const job = await under.sendRequest(headerOf(sent), bodyOf([]))
          expect(job.failure).toBeNull()
          if (sent.every((flag) => flags.includes(flag))) expect(job.head).not.toHaveProperty('droppedParams')
        }
      }),
      { numRuns: 60 },
    )
  })
})
