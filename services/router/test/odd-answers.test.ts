/**
 * The table of odd answers: what a backend says that is neither a good answer nor a plain failure. Each row tells whether
 * another target is asked, whether the backend's health suffers, and what the client sees.
 *
 * Health is judged by what follows: four requests, one after the other, and how many of them still go to that backend.
 */

import { describe, expect, test } from 'vitest'
import { faultPageSection } from '@gateway/testing/fault-page'
import type { FakeJob } from './fake-job.ts'
import { chunk, completion, DONE, event, openStream, ROLE, sendJson, STOP, type Answer } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { askOf, goodAnswer, type Asking } from './well-behaved.ts'

const page = faultPageSection('answers', [
  'The first backend answers …',
  'Request',
  'Next target',
  'Its health',
  'What the client sees',
])

interface Row {
  answers: string
  asking: Asking
  answer: Answer
  next: 'asked' | 'not asked'
  health: 'untouched' | 'out after three in a row' | 'out at once'
  sees: string
}

const THE_SECOND = 'the answer of the second'
const BROKEN_OFF = 'what came before, then an error event'

const stream = (...events: string[]): Answer => {
  return (response) => {
    openStream(response)
    response.end(events.join(''))
  }
}
const streamInPieces = (...events: string[]): Answer => {
  return async (response) => {
    openStream(response)
    for (const one of events) {
      response.write(one)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    response.end()
  }
}
const json = (status: number, body: object): Answer => {
  return (response) => sendJson(response, status, body)
}

const ERROR = { code: 502, message: 'Provider disconnected' }
const withChoices = (extra: object, finishReason: string | null, delta: object = { content: '' }): string =>
  event({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', ...extra, ...choices(finishReason, delta) })
const choices = (finishReason: string | null, delta: object, extra: object = {}): object => ({
  choices: [{ index: 0, delta, finish_reason: finishReason, ...extra }],
})

/** How servers and aggregators tell of an error within a stream. */
const ERROR_EVENTS: [string, string][] = [
  ['an event with an error', event({ error: ERROR })],
  ['an error beside choices that finish by `error`', withChoices({ error: ERROR }, 'error')],
  ['an error beside choices that finish by `stop`', withChoices({ error: ERROR }, 'stop')],
  ['an error beside choices with content', withChoices({ error: ERROR }, null, { content: 'half a w' })],
  ['an error as a text beside choices', withChoices({ error: 'out of memory' }, null)],
  ['the finish reason `error` and nothing else', withChoices({}, 'error')],
  ['an error within a choice', event(choices('stop', { content: '' }, { error: ERROR }))],
  ['an object of the kind `error`', event({ object: 'error', message: 'CUDA', type: 'InternalServerError', code: 500 })],
  ['an event named `error` that is no JSON', 'event: error\ndata: upstream connect error\n\n'],
  ['an event named `error`', `event: error\n${event({ message: 'overloaded' })}`],
  ['an error as Anthropic writes it', event({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } })],
]

const SOFT = { next: 'asked', health: 'out after three in a row', sees: THE_SECOND } as const

const rows: Row[] = [
  ...ERROR_EVENTS.map(([name, text]): Row => {
    return { answers: `${name}, before content`, asking: 'stream', answer: stream(ROLE, text, DONE), ...SOFT }
  }),
  ...ERROR_EVENTS.map(([name, text]): Row => {
    const answer = streamInPieces(ROLE, chunk({ content: 'Hel' }), text + DONE)
    return { answers: `${name}, after content`, asking: 'stream', answer, ...SOFT, next: 'not asked', sees: BROKEN_OFF }
  }),
  {
    answers: 'an error after the last finish reason',
    asking: 'stream',
    answer: streamInPieces(ROLE, chunk({ content: 'Hel' }), STOP, event({ error: ERROR }) + DONE),
    ...SOFT,
    next: 'not asked',
    sees: BROKEN_OFF,
  },
  ...(['plain', 'embeddings', 'images'] as const).flatMap((asking): Row[] => [
    { answers: '200 and an error', asking, answer: json(200, { error: ERROR }), ...SOFT },
    {
      answers: '200, an error and an answer',
      asking,
      answer: json(200, { ...goodAnswer(asking), error: ERROR }),
      ...SOFT,
    },
    {
      answers: '200 and an object of the kind `error`',
      asking,
      answer: json(200, { object: 'error', message: 'CUDA', code: 500 }),
      ...SOFT,
    },
  ]),
  {
    answers: '200 and a choice that finished by `error`',
    asking: 'plain',
    answer: json(200, { ...completion(), choices: [{ index: 0, message: { content: 'Hel' }, finish_reason: 'error' }] }),
    ...SOFT,
  },
  {
    answers: '200 and an error within a choice',
    asking: 'plain',
    answer: json(200, {
      ...completion(),
      choices: [{ index: 0, message: { content: 'Hel' }, finish_reason: 'stop', error: ERROR }],
    }),
    ...SOFT,
  },
  {
    answers: 'chunks with an empty `error`',
    asking: 'stream',
    answer: stream(ROLE, withChoices({ error: null }, null, { content: 'Hi' }), withChoices({ error: '' }, 'stop'), DONE),
    next: 'not asked',
    health: 'untouched',
    sees: 'the answer of the first',
  },
]

describe('odd answers', () => {
  test.for(rows)('$answers ($asking)', async ({ answers, asking, answer, next, health, sees }) => {
    const a = await backend(answer)
    const b = await backend((response, request) => askOf(asking).good(response, request))
    const under = await router(poolOver([a.url, b.url]))
    const { header, body } = askOf(asking)
    const first = await under.ask(header, body)
    const seen = { next: b.seen.length > 0 ? 'asked' : 'not asked', sees: seenBy(first) }
    for (let i = 0; i < 3; i++) await under.ask(header, body)
    expect({ ...seen, health: HEALTH_BY_REQUESTS[a.seen.length] }).toEqual({ next, sees, health })
    page.row(answers, asking, next, health, sees)
  })
})

/** How many of four requests went to the backend. */
const HEALTH_BY_REQUESTS: Record<number, Row['health']> = { 1: 'out at once', 3: 'out after three in a row', 4: 'untouched' }

function seenBy(job: FakeJob): string {
  if (job.end) return job.head?.backend === 'a' ? 'the answer of the first' : THE_SECOND
  if (job.head) return job.text().includes('finish_reason":"') ? 'a whole answer that is none' : BROKEN_OFF
  return job.failure!.code
}

test('docs/fault-table.md says what was seen, and no more', () => page.close())
