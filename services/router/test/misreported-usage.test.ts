/**
 * Backends that report their usage at the wrong moment, more than once, or without the prompt. The bill holds all that
 * the client was given, and the client gets the figures of the bill, once.
 */

import { MOST_TOKENS } from '@gateway/contracts/usage'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chunk, completion, DONE, event, openStream, ROLE, sendJson, STOP } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const PROMPT = 7
const reported = (completionTokens: number, promptTokens = PROMPT) => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
})
const usageChunk = (usage: object, choices: object[] = []) =>
  event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, usage })

async function requestStream(events: string[], ending: 'whole' | 'broken') {
  const a = await backend((response) => {
    openStream(response)
    response.end(events.join('') + (ending === 'whole' ? STOP + DONE : ''))
  })
  const reply = await (await router(poolOver([a.url]))).sendRequest({ stream: true, includeUsage: true })
  const usages = [...reply.text().matchAll(/"usage":(\{[^}]*\})/g)].map(([, usage]) => JSON.parse(usage!) as object)
  return { usage: reply.end?.usage ?? reply.failure?.usage, usages }
}

describe('a stream', () => {
  test('that goes on behind its usage is billed for the later text, too', async () => {
    const { usage, usages } = await requestStream(
      [ROLE, chunk({ content: 'one' }), usageChunk(reported(1)), chunk({ content: ' two three' })],
      'whole',
    )
    expect(usage).toMatchObject({ promptTokens: PROMPT, completionTokens: 3, estimated: true })
    expect(usages).toEqual([reported(3)])
  })

  test('that goes on behind the most tokens that the ledger takes is billed for those', async () => {
    const { usage } = await requestStream(
      [ROLE, chunk({ content: 'one' }), usageChunk(reported(MOST_TOKENS)), chunk({ content: ' two' })],
      'whole',
    )
    expect(usage).toMatchObject({ completionTokens: MOST_TOKENS })
  })

  test('whose usage comes twice passes it on once', async () => {
    const { usage, usages } = await requestStream(
      [ROLE, chunk({ content: 'one two' }), usageChunk(reported(2)), usageChunk(reported(2))],
      'whole',
    )
    expect(usage).toMatchObject({ completionTokens: 2, estimated: false })
    expect(usages).toEqual([reported(2)])
  })

  test('is billed for each of its words, wherever its backend counts them and wherever it ends', async () => {
    const step = fc.record({
      words: fc.integer({ min: 1, max: 4 }),
      reports: fc.constantFrom('beside', 'behind', 'not'),
    })
    const steps = fc.array(step, { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom('whole' as const, 'broken' as const), async (given, ending) => {
        let words = 0
        const events = given.flatMap(({ words: more, reports }) => {
          words += more
          const delta = { content: ' one'.repeat(more) }
          const choices = [{ index: 0, delta, finish_reason: null }]
          if (reports === 'beside') return [usageChunk(reported(words), choices)]
          return [chunk(delta), ...(reports === 'behind' ? [usageChunk(reported(words))] : [])]
        })
        const { usage, usages } = await requestStream([ROLE, ...events], ending)
        expect(usage?.completionTokens).toBe(words)
        if (ending === 'whole')
          expect(usages).toEqual([
            { ...reported(words), prompt_tokens: usage!.promptTokens, total_tokens: usage!.promptTokens + words },
          ])
      }),
      { numRuns: 25 },
    )
  })
})

/** A cached prompt, at some (ollama/ollama#5370, 2024-06-29). */
describe('a prompt of which its backend counts nothing is billed as estimated', () => {
  test('in a stream', async () => {
    const { usage, usages } = await requestStream(
      [ROLE, chunk({ content: 'one two' }), usageChunk(reported(2, 0))],
      'whole',
    )
    expect(usage).toMatchObject({ promptTokens: 11, completionTokens: 2, estimated: true })
    expect(usages).toEqual([reported(2, 11)])
  })

  test('in a plain response', async () => {
    const a = await backend((response) => sendJson(response, 200, completion('one two', reported(2, 0))))
    const reply = await (await router(poolOver([a.url]))).sendRequest()
    expect(reply.end?.usage).toMatchObject({ promptTokens: 11, completionTokens: 2, estimated: true })
    expect(JSON.parse(reply.text())).toMatchObject({ usage: reported(2, 11) })
  })
})

/** llama.cpp's way (`handle_completions_impl` and `to_json_oaicompat_chat_stream` of its server, 2026-11). */
describe('several choices of which the backend counts each by itself are billed together', () => {
  const [FIRST, SECOND] = ['one two three', 'four five six seven']
  const timings = (tokens: number) => ({ timings: { predicted_n: tokens } })
  const choice = (index: number, content: string) => {
    return { index, message: { role: 'assistant', content }, finish_reason: 'stop' }
  }
  const requestPlain = async (reply: object) => {
    const a = await backend((response) => sendJson(response, 200, reply))
    const job = await (await router(poolOver([a.url]))).sendRequest({}, { messages: [], n: 2 })
    return { usage: job.end?.usage, reported: (JSON.parse(job.text()) as { usage: unknown }).usage }
  }
  const both = { ...completion('', reported(3)), choices: [choice(0, FIRST), choice(1, SECOND)] }

  test('in a plain response, which reports those of the first', async () => {
    const { usage, reported: passedOn } = await requestPlain({ ...both, ...timings(3) })
    expect(usage).toMatchObject({ promptTokens: PROMPT, completionTokens: 7, estimated: true })
    expect(passedOn).toEqual(reported(7))
  })

  test('and those of a backend that counts all stay as they are', async () => {
    const { usage, reported: passedOn } = await requestPlain({ ...both, usage: reported(70) })
    expect(usage).toMatchObject({ completionTokens: 70, estimated: false })
    expect(passedOn).toEqual(reported(70))
  })

  test.each(['n', 'n_cmpl'])('in a stream, which reports one after the other (%s)', async (name) => {
    const said = (index: number, content: string) => {
      const delta = (piece: object, finish_reason: string | null) =>
        event({ ...usageless, choices: [{ index, delta: piece, finish_reason }] })
      const tokens = content.split(' ').length
      return (
        delta({ content }, null) +
        delta({}, 'stop') +
        event({ ...usageless, choices: [], usage: reported(tokens), ...timings(tokens) })
      )
    }
    const usageless = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' }
    const a = await backend((response) => {
      openStream(response)
      response.end(ROLE + said(0, FIRST) + said(1, SECOND) + DONE)
    })
    const reply = await (
      await router(poolOver([a.url]))
    ).sendRequest({ stream: true, includeUsage: true }, { messages: [], [name]: 2 })
    expect(reply.end?.usage).toMatchObject({ promptTokens: PROMPT, completionTokens: 7, estimated: false })
    const usages = [...reply.text().matchAll(/"usage":(\{[^}]*\})/g)].map(([, usage]) => JSON.parse(usage!) as object)
    expect(usages).toEqual([reported(7)])
  })
})
