/**
 * A response takes time in proportion to its bytes, for all kinds of content. A test writes each kind of item thousands of
 * times, once and twice as often, in a complete response and in a stream. It covers the way from each target's dialect to each
 * client's.
 */

import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects, type ClientDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { cpuGrowth, LINEAR_BELOW, many } from '@gateway/testing/cpu-growth'
import { BackendFault } from '../src/core/backend-fault.ts'
import { createSseParser } from '@gateway/sse/parse-events'
import { dialectRoute } from '../src/dialects/dialects.ts'
import { TARGETS } from './target-fixtures.ts'

const ITEMS = 8_000
const NO_TOKENS = { promptTokens: 1, completionTokens: 1, cachedTokens: 0, reasoningTokens: 0, estimated: true }
const identity = { id: 'i', created: 1, model: 'm' }

const dialectPairs = targetDialects.flatMap((target) =>
  clientDialects.map((client) => ({ target, client, dialect: dialectRoute(client, [target]).dialect })),
)

/** The parts of its request that reading a response needs. */
function echoOf(client: ClientDialect, dialect: (typeof dialectPairs)[number]['dialect']): unknown {
  const body = Buffer.from(JSON.stringify(CLIENTS[client].requestForAll))
  return dialect.request({ kind: 'chat', body, model: 'm', stream: true, maxTokens: undefined, form: [] }).echo
}

function orRefused(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof BackendFault)) throw error
  }
}

describe.each(dialectPairs)('$target to $client', ({ target, client, dialect }) => {
  const echo = echoOf(client, dialect)

  test.each(Object.entries(TARGETS[target].manyInResponse))(
    'a response of twice as many %s takes twice the time',
    (_, make) => {
      const growth = cpuGrowth(ITEMS, (count) => {
        const bytes = Buffer.from(JSON.stringify(make(count)))
        return () =>
          orRefused(() => {
            const reply = dialect.readBackendResponse('chat', bytes, identity, echo)
            dialect.textOf(reply.json)
            dialect.withUsage(reply, NO_TOKENS, 'chat')
          })
      })
      expect(growth).toBeLessThan(LINEAR_BELOW)
    },
  )

  test.each(Object.entries(TARGETS[target].manyInStream))(
    'a stream of twice as many %s takes twice the time',
    (_, make) => {
      const growth = cpuGrowth(ITEMS, (count) => {
        const name = (event: object) => ('type' in event ? `event: ${String(event.type)}\n` : '')
        const bytes = Buffer.from(
          make(count)
            .map((event) => `${name(event)}data: ${JSON.stringify(event)}\n\n`)
            .join(''),
        )
        return () =>
          orRefused(() => {
            const reading = dialect.readStream({ includeUsage: true, choices: 1, identity, echo })
            const parser = createSseParser()
            for (let at = 0; at < bytes.length; at += 16_384)
              for (const event of parser.push(bytes.subarray(at, at + 16_384))) reading.read(event)
            reading.usageChunk(NO_TOKENS)
          })
      })
      expect(growth).toBeLessThan(LINEAR_BELOW)
    },
  )
})

test.each<[string, (n: number) => Buffer[]]>([
  ['pieces of one event', (n) => many(n, () => Buffer.from('x'))],
  ['pieces of one event of many lines', (n) => many(n, () => Buffer.from('data: x\r\n'))],
  ['events in one piece', (n) => [Buffer.from('data: x\n\n'.repeat(n))]],
  ['lines that are no field', (n) => [Buffer.from(`${'x\n'.repeat(n)}data: y\n\n`)]],
  ['empty lines', (n) => [Buffer.from('\n'.repeat(100 * n))]],
  ['returns', (n) => [Buffer.from('\r'.repeat(100 * n))]],
])('a stream of twice as many %s is split in twice the time', (_, make) => {
  const growth = cpuGrowth(ITEMS, (count) => {
    const pieces = make(count)
    return () => {
      const parser = createSseParser()
      for (const piece of pieces) parser.push(piece)
      parser.end()
    }
  })
  expect(growth).toBeLessThan(LINEAR_BELOW)
})
