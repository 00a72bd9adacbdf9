/**
 * Clients distinguish kinds of objects by the beginning of an id. So every response has the beginning of its client's dialect, even where the
 * backend named it otherwise. It has one id from its first event to its last.
 */

import fc from 'fast-check'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { describe, expect, test } from 'vitest'
import { createSseParser } from '@gateway/sse/parse-events'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import type { Json, Spoken } from '../../test/target-fixture.ts'
import { TARGETS } from '../../test/target-fixtures.ts'
import { dialectRoute } from './dialects.ts'

const PAIRS = clientDialects.flatMap((client) => targetDialects.map((target) => [client, target] as const))
const USAGE = { promptTokens: 1, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0, estimated: true }

/** A response with this id. Its text looks like one. */
function responseBy(target: TargetDialect, id: unknown): Spoken {
  const said = TARGETS[target].say({ text: `Hi "id":${JSON.stringify(id)}` })
  const named = JSON.stringify(said, (name, value: unknown) => (name === 'id' && value === said.plain.id ? id : value))
  return JSON.parse(named) as Spoken
}

function opened(client: ClientDialect, target: TargetDialect) {
  const { dialect } = dialectRoute(client, [target])
  const body = Buffer.from(JSON.stringify(CLIENTS[client].body('x', 9)))
  const clientRequest = { kind: 'chat' as const, body, model: 'm', stream: true, maxTokens: undefined, form: [] }
  const identity = { id: `${CLIENTS[client].idPrefix}own`, created: 1, model: 'm' }
  return { dialect, identity, echo: dialect.request(clientRequest).echo }
}

function idsOfStream(client: ClientDialect, target: TargetDialect, events: Json[]): unknown[] {
  const { dialect, identity, echo } = opened(client, target)
  const reading = dialect.readStream({ includeUsage: true, choices: 1, identity, echo })
  const bytes = events.map(
    ({ type, ...rest }) =>
      `${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify({ type, ...rest })}\n\n`,
  )
  const read = createSseParser()
    .push(Buffer.from(bytes.join('')))
    .map((event) => reading.read(event))
  const sent = Buffer.concat([...read, reading.usageChunk(USAGE)].flatMap((written) => written ?? []))
  return createSseParser()
    .push(sent)
    .flatMap(({ data }) => CLIENTS[client].idsIn(JSON.parse(data)))
}

const id = fc.oneof(
  fc.constantFrom<unknown>('chatcmpl-1', 'msg_1', 'resp_1', 'gen-17', 'cmpl-5', '', null, undefined, 'c"4\\', 'ü'),
  fc.string(),
)

describe.each(PAIRS)('for a client of %s at a backend of %s', (client, target) => {
  test('a plain response has an id of the dialect', () => {
    fc.assert(
      fc.property(id, (given) => {
        const { dialect, identity, echo } = opened(client, target)
        const bytes = Buffer.from(JSON.stringify(responseBy(target, given).plain))
        const reply = JSON.parse(dialect.readBackendResponse('chat', bytes, identity, echo).bytes.toString()) as Json
        expect(reply.id).toMatch(new RegExp(`^${CLIENTS[client].idPrefix}.`))
      }),
    )
  })

  test('a stream has one id of the dialect', () => {
    fc.assert(
      fc.property(id, (given) => {
        const ids = idsOfStream(client, target, responseBy(target, given).events)
        expect(ids[0]).toMatch(new RegExp(`^${CLIENTS[client].idPrefix}.`))
        expect(new Set(ids).size).toBe(1)
      }),
    )
  })

  test('an id that is of the dialect already stays', () => {
    const given = `${CLIENTS[client].idPrefix}17`
    const ids = idsOfStream(client, target, responseBy(target, given).events)
    // Where one of both is a response, the gateway names the response.
    if ((client === 'responses') === (target === 'responses')) expect(ids[0]).toBe(given)
  })
})
