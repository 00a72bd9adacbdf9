/**
 * No word of a client or of a backend is taken for a member that every object has: `constructor`, `__proto__`,
 * `toString`. Each stands at each place of a request, of a response and of a stream, on the way between all dialects.
 */

import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { PROTOTYPE_NAMES, withPrototypeNames } from '@gateway/testing/prototype-names'
import { BackendFault, classifyFault } from '../src/core/backend-fault.ts'
import { readRejections } from '../src/core/refused-parameters.ts'
import type { ClientRequest } from '../src/dialects/dialect.ts'
import { dialectRoute } from '../src/dialects/dialects.ts'
import { VENDOR_PROFILES } from '../src/vendors/index.ts'
import { meaningsOf } from '../src/vendors/meanings.ts'
import { plain } from '../src/vendors/plain.ts'
import { TARGETS } from './target-fixtures.ts'

const ERRORS: object[] = [
  { error: { message: 'Unsupported parameter: user', type: 'invalid_request_error', param: 'user', code: 'x' } },
  { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded', details: { error_code: 'x' } } },
  { detail: [{ type: 'extra_forbidden', loc: ['body', 'user'], msg: 'no' }] },
  { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message: 'no' } } },
]

const MODEL = 'claude-opus-4-8'
const USUAL = { kind: 'chat', model: MODEL, stream: true, maxTokens: undefined, form: [] } as const
const REQUESTS: Omit<ClientRequest, 'body'>[] = [
  USUAL,
  { ...USUAL, model: 'claude-opus-4-1' },
  { ...USUAL, profile: VENDOR_PROFILES.mistral, form: VENDOR_PROFILES.ollama.rejectedParameters('m') },
  { ...USUAL, model: 'gemini-3-pro', profile: VENDOR_PROFILES.gemini },
]

const dialectPairs = clientDialects.flatMap((client) =>
  targetDialects.flatMap((target) => {
    const route = dialectRoute(client, [target])
    return route ? [{ client, target, dialect: route.dialect }] : []
  }),
)

/** Those of its ends that are no refusal and no fault of the backend. */
function failuresOf(work: () => void): string[] {
  try {
    work()
    return []
  } catch (error) {
    return error instanceof BackendFault ? [] : [String((error as Error).stack)]
  }
}

/** Some targets refuse them, and a response needs none of them. */
const NOT_EVERYWHERE = { tools: undefined, tool_choice: undefined, stop: undefined, stop_sequences: undefined }

describe.each(dialectPairs)('from $client to $target', ({ client, target, dialect }) => {
  const identity = { id: 'i', created: 1, model: 'm' }

  test('a request is translated or refused', () => {
    const failures = [...withPrototypeNames(CLIENTS[client].richRequest)].flatMap(({ place, name, changed }) => {
      const body = Buffer.from(JSON.stringify(changed))
      return REQUESTS.flatMap((clientRequest) =>
        failuresOf(() => void dialect.request({ ...clientRequest, body })).map((why) => `${place}: ${name}: ${why}`),
      )
    })
    expect(failures).toEqual([])
  })

  const { echo } = dialect.request({
    ...USUAL,
    body: Buffer.from(JSON.stringify({ ...CLIENTS[client].richRequest, ...NOT_EVERYWHERE })),
  })

  test('a whole response is read, or is the fault of the backend', () => {
    const failures = [...withPrototypeNames(TARGETS[target].rich.response)].flatMap(({ place, name, changed }) =>
      failuresOf(() => {
        const reply = dialect.readBackendResponse('chat', Buffer.from(JSON.stringify(changed)), identity, echo)
        dialect.textOf(reply.json)
        dialect.withUsage(
          reply,
          { promptTokens: 1, completionTokens: 1, cachedTokens: 0, reasoningTokens: 0, estimated: true },
          'chat',
        )
      }).map((why) => `${place}: ${name}: ${why}`),
    )
    expect(failures).toEqual([])
  })

  test('a stream is read, or is the fault of the backend', () => {
    const events = TARGETS[target].rich.events
    const read = (list: readonly { name: string | null; event: unknown }[]) => {
      const reading = dialect.readStream({ includeUsage: true, choices: 1, identity, echo })
      for (const { name, event } of list) {
        const data = JSON.stringify(event)
        reading.read({ name, data, raw: Buffer.from(`data: ${data}\n\n`) })
      }
      if (reading.progress.complete)
        reading.usageChunk({
          promptTokens: 1,
          completionTokens: 1,
          cachedTokens: 0,
          reasoningTokens: 0,
          estimated: true,
        })
    }
    const named = events.map((event) => ({
      name: 'type' in event ? String(event.type) : null,
      event: event as unknown,
    }))
    expect(failuresOf(() => read(named))).toEqual([])
    const failures = named.flatMap((one, at) => [
      ...[...withPrototypeNames(one.event)].flatMap(({ place, name, changed }) =>
        failuresOf(() => read(named.with(at, { ...one, event: changed }))).map((why) => `${place}: ${name}: ${why}`),
      ),
      ...PROTOTYPE_NAMES.flatMap((name) => failuresOf(() => read(named.with(at, { ...one, name })))),
    ])
    expect(failures).toEqual([])
  })

  test('an error of the backend is understood', () => {
    const requested = Buffer.from(JSON.stringify(CLIENTS[client].richRequest))
    const { errors: meanings } = meaningsOf(plain)
    const failures = ERRORS.flatMap((error) =>
      [...withPrototypeNames(error)].flatMap(({ place, name, changed }) =>
        failuresOf(() => {
          const body = dialect.readErrorBody(JSON.stringify(changed)) ?? '{}'
          for (const status of [400, 403, 404, 429, 500])
            classifyFault(new BackendFault('status', 'no', { status, body }), {
              clientRequest: requested,
              secrets: [],
              meanings,
            })
          readRejections(body, { kind: 'chat', body: requested, form: [], stream: false, capped: false }, meanings)
        }).map((why) => `${place}: ${name}: ${why}`),
      ),
    )
    expect(failures).toEqual([])
  })
})
