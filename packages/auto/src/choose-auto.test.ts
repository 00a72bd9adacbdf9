import type { ChatMessage } from '@gateway/contracts/chat'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Lane, LANE_IDS, LANES } from './lanes.ts'
import { chooseAuto, type Options } from './choose-auto.ts'

const ALL = Object.values(LANE_IDS)

/** Turns of user and assistant, the last the user's. */
function conversation(...turns: string[]): ChatMessage[] {
  return turns.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }))
}

function laneOf(messages: ChatMessage[]): Lane | undefined {
  const { laneId } = chooseAuto(messages, ALL)
  return LANES.find((lane) => LANE_IDS[lane] === laneId)
}

describe('a message in the user’s words goes to its lane', () => {
  test.each<[Lane, string]>([
    ['spark', 'heya, how is it going?'],
    ['spark', 'thank you so much!'],
    ['spark', 'set a timer for eight minutes'],
    ['spark', 'Danke dir, bis morgen!'],
    ['spark', 'お疲れ様、ありがとう！'],
    ['spark', '好的，谢谢，再见'],
    ['spark', '안녕, 오늘 하루 잘 보냈어?'],
    ['bolt', 'What is the capital of Mongolia?'],
    ['bolt', 'Translate to German: "The shop is closed on Sundays."'],
    ['bolt', 'Calculate the perimeter of a square with sides of 6 metres.'],
    ['bolt', '¿Cuál es la capital de Bolivia?'],
    ['bolt', 'Comment dit-on « parapluie » en espagnol ?'],
    ['bolt', '「図書館」を英語で言うと？'],
    ['nova', 'Write a short story about a baker who cannot smell'],
    ['nova', 'Compare electric and petrol cars for a family that drives a lot, and recommend one'],
    ['nova', 'Erkläre mir ausführlich die Ursachen der Französischen Revolution'],
    ['nova', 'Escribe un discurso de boda para mi hermana, divertido y breve'],
    ['nova', '写一篇关于友谊的作文，八百字左右'],
    ['atlas', 'Prove that there is no largest prime number'],
    ['atlas', 'Find all real solutions of x^4 - 5x^2 + 4 = 0 and justify each step'],
    ['atlas', 'Démontre que la racine carrée de 6 est irrationnelle'],
    ['atlas', '证明：任意奇数的平方除以8余1'],
    ['research', 'what is the weather in Lyon tomorrow'],
    ['research', 'latest news about the port strike'],
    ['research', 'hows teh wether in leds tomoro'],
    ['research', 'Question: Who is top of the league in Scotland?\nAnswer:'],
    ['research', 'How does caffeine affect memory? Please cite recent studies.'],
    ['research', 'Wie steht der Euro heute zum Dollar?'],
    ['research', '今天上海天气怎么样？'],
    ['code', 'write a python function that merges two sorted lists'],
    ['code', 'git: how do I undo my last commit?'],
    ['code', 'Wie sortiere ich in SQL nach zwei Spalten?'],
    ['code', '用JavaScript写一个去重函数'],
    ['code', 'TypeError: x is not a function, what does that mean'],
  ])('%s: %s', (lane, text) => {
    expect(laneOf(conversation(text))).toBe(lane)
  })
})

describe('words of code in everyday text are not a question of code', () => {
  test.each<[Lane, string]>([
    ['spark', 'we debugged until three last night and now I dream of brackets, good night'],
    ['spark', 'my javascript class was so boring today, lol'],
    ['nova', 'Write a poem about a python that falls in love with a compiler'],
    ['nova', 'Explain the class system of Victorian England in detail'],
    ['bolt', 'How long can a python go without food?'],
  ])('%s: %s', (lane, text) => {
    expect(laneOf(conversation(text))).toBe(lane)
  })
})

test('quoted news in a text to summarise is not a search of the web', () => {
  const article =
    'The city council voted today to reopen the old tram line. Shares of the operator rose this morning by four percent. ' +
    'The mayor said the latest figures, released this week, show that traffic is at a record, and that prices will not rise. ' +
    'Critics called the vote rushed and asked for a new study of the costs before the work begins next month.'
  expect(laneOf(conversation(`Summarise this article in one paragraph:\n\n${article}`))).not.toBe('research')
})

test('a back-story before the question does not change the lane', () => {
  const story = 'My aunt sent us a parcel of jam. It has been windy all week and the kids are at home. I barely slept.'
  expect(laneOf(conversation(`${story} Anyway: what is the weather in Porto tomorrow?`))).toBe('research')
})

describe('a later message is read in the context of the one before', () => {
  test.each<[Lane, string[]]>([
    ['bolt', ['Translate "good night" to Italian', 'Buonanotte', 'and in French?']],
    ['code', ['Write a binary search in Go', 'func search() {}', 'now in Rust']],
    ['research', ['What is the weather in Bern?', 'Sunny, 20 degrees.', 'and tomorrow?']],
    ['spark', ['Prove that e is irrational', 'Assume the contrary ...', 'thanks!']],
    ['spark', ['Write a shell script that backs up my home folder', '#!/bin/sh ...', 'great, thank you, bye']],
    ['atlas', ['thanks!', 'Anytime!', 'prove that the square root of 10 is irrational']],
  ])('%s: %j', (lane, turns) => {
    expect(laneOf(conversation(...turns))).toBe(lane)
  })

  test('and says so where only that decided', () => {
    const { reason } = chooseAuto(
      conversation('Write a binary search in Go', 'func search() {}', 'now with a test'),
      ALL,
    )
    expect(['code', 'follow-up']).toContain(reason)
  })
})

describe('the reason is one short stable word', () => {
  test.each([
    ['time-sensitive', 'what is the weather in Lyon tomorrow'],
    ['sources-asked', 'How does caffeine affect memory? Please cite peer-reviewed papers.'],
    ['code', 'write a python function that merges two sorted lists'],
    ['proof', 'Prove that there is no largest prime number'],
    ['small-talk', 'thank you so much!'],
    ['long-form', 'Write a short story about a baker who cannot smell'],
    ['short-answer', 'What is the capital of Mongolia?'],
  ])('%s: %s', (reason, text) => {
    expect(chooseAuto(conversation(text), ALL).reason).toBe(reason)
  })

  test('the reason fits a header field for every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(chooseAuto(conversation(text), ALL).reason).toMatch(/^[a-z][a-z-]{2,24}$/)
      }),
    )
  })
})

describe('only lanes that may be used are chosen', () => {
  test('without the paid lanes the best included lane is chosen, and the reason says so', () => {
    const proof = conversation('Prove that there is no largest prime number')
    expect(chooseAuto(proof, [LANE_IDS.spark, LANE_IDS.bolt])).toEqual({
      laneId: LANE_IDS.bolt,
      reason: 'best-available',
    })
    expect(chooseAuto(proof, [LANE_IDS.spark, LANE_IDS.bolt, LANE_IDS.nova]).laneId).toBe(LANE_IDS.nova)
  })

  test('lanes that an operator named are used in the order given', () => {
    expect(chooseAuto(conversation('hello'), ['house-small', 'house-large']).laneId).toBe('house-small')
  })

  test('the choice is always one of the lanes given, twice the same, and never throws', () => {
    const role = fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function')
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.constantFrom('```js', '\ud800', '$$', '((((', '\n\n\n', 'a'.repeat(5_000)),
    )
    const part = fc.oneof(
      fc.record({ type: fc.constant('text'), text }),
      fc.record({ type: fc.constant('image_url'), image_url: fc.record({ url: fc.webUrl() }) }),
      fc.record({ type: fc.string() }),
    )
    const message = fc.record({
      role,
      content: fc.oneof(text, fc.array(part), fc.constant(null), fc.constant(undefined)),
    })
    const laneIds = fc.uniqueArray(fc.oneof(fc.constantFrom(...ALL), fc.string()), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), laneIds, (messages, ids) => {
        const choice = chooseAuto(messages, ids)
        expect(ids).toContain(choice.laneId)
        expect(chooseAuto(messages, ids)).toEqual(choice)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a plan may prefer the cheapest or the best of the adequate lanes', () => {
  const PRICES: Record<string, number> = { 'svc-instant': 1, 'svc-fast': 1.5, 'svc-core': 3.75, 'svc-pro': 6.7 }
  const costPreference = (towards: 'cheapest' | 'best'): Options => ({
    costPreference: { towards, multiplierOf: (id) => PRICES[id] ?? 2 },
  })

  test('a sure choice stays', () => {
    const proof = conversation('Prove that there is no largest prime number')
    expect(chooseAuto(proof, ALL, costPreference('cheapest'))).toEqual(chooseAuto(proof, ALL))
    expect(chooseAuto(conversation('thank you so much!'), ALL, costPreference('best'))).toEqual(
      chooseAuto(conversation('thank you so much!'), ALL),
    )
  })

  test('for every message the price moves the right way only, and a moved choice says so', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('plan', 'hi', 'why', 'prove', 'my cat', 'today', 'code', '?')), (words) => {
        const requested = conversation(words.join(' '))
        const plain = chooseAuto(requested, ALL)
        for (const [towards, sign] of [
          ['cheapest', 1],
          ['best', -1],
        ] as const) {
          const preferred = chooseAuto(requested, ALL, costPreference(towards))
          const priceOf = (id: string): number => sign * (PRICES[id] ?? 2)
          expect(priceOf(preferred.laneId)).toBeLessThanOrEqual(priceOf(plain.laneId))
          if (preferred.laneId !== plain.laneId)
            expect(preferred.reason).toMatch(/^(cheapest-that-does|best-that-fits)$/)
        }
      }),
    )
  })

  test('a lane that may not be used is never chosen', () => {
    expect([LANE_IDS.bolt, LANE_IDS.nova]).toContain(
      chooseAuto(conversation('trees?'), [LANE_IDS.bolt, LANE_IDS.nova], costPreference('cheapest')).laneId,
    )
  })
})

test('content in parts is read like plain text', () => {
  const text = 'write a python function that merges two sorted lists'
  const parts: ChatMessage[] = [{ role: 'user', content: [{ type: 'text', text }] }]
  expect(chooseAuto(parts, ALL)).toEqual(chooseAuto(conversation(text), ALL))
})

test('images alone get the general lane', () => {
  const image: ChatMessage = {
    role: 'user',
    content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }],
  }
  expect(chooseAuto([image], ALL)).toEqual({ laneId: LANE_IDS.nova, reason: 'no-text' })
})

test('only the head and the tail of a message of megabytes are read', () => {
  const around = (middle: string) =>
    conversation(`Summarise this: ${'lorem ipsum '.repeat(200)}${middle}${'dolor sit amet '.repeat(200)}`)
  const code = 'function add(a, b) { return a + b }\n'.repeat(100_000)
  const question = 'What is the weather in Hanoi right now? Cite your sources. '.repeat(100_000)
  expect(chooseAuto(around(code), ALL)).toEqual(chooseAuto(around(question), ALL))
  expect(chooseAuto(conversation(code), ALL).laneId).toBe(LANE_IDS.code)
})
