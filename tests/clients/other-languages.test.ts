/**
 * A person reads these texts in clients of Go, Rust, Java and Python when a request fails. Python's frameworks also
 * classify the failure.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BAD_KEY, type Failure, FAILURES, INVALID_KEY, openStage, shownBy, type Stage } from './stage.ts'

const commands = JSON.parse(process.env['CLIENT_COMMANDS'] ?? '{}') as Record<string, [string, ...string[]]>
const failures = Object.entries(FAILURES) as [Failure, RegExp][]

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage[Symbol.asyncDispose]())

/** async-openai says nothing of itself, so it has the flat bodies; it shows them whole, as JSON. */
describe.each(['go', 'rust', 'java'])('OpenAI’s API from %s shows the sentence', (language) => {
  test.each(failures)('of %s', async (model, sentence) => {
    expect(await shownBy(commands[language]!, stage.gateway, model)).toMatch(sentence)
  })

  test('of a key that is unknown', async () => {
    const { url } = stage.gateway
    expect(await shownBy(commands[language]!, { url, key: BAD_KEY }, 'too-long')).toMatch(INVALID_KEY)
  })
})

interface Outcome {
  client: string
  kind: string
  shown: string
}

const ENVIRONMENT = { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LANGSMITH_TRACING: 'false' }

async function python(model: string, key = stage.gateway.key): Promise<Outcome[]> {
  const said = await shownBy(commands['python']!, { ...stage.gateway, url: stage.gateway.url, key }, model, ENVIRONMENT)
  const lines = said.split('\n').filter((line) => line.startsWith('{"client"'))
  if (lines.length === 0) throw new Error(said)
  return lines.map((line) => JSON.parse(line) as Outcome)
}

describe('Python’s clients show the sentence', () => {
  test.each(failures)('of %s', async (model, sentence) => {
    const reported = await python(model)
    // Messages has an overflow's phrase in front, with the numbers.
    const ofMessages = model === 'too-long' ? /prompt is too long: 1500 tokens > 1000 maximum/ : sentence
    for (const { client, shown } of reported) {
      expect([client, shown]).toEqual([
        client,
        expect.stringMatching(client.toLowerCase().includes('anthropic') ? ofMessages : sentence) as string,
      ])
    }
  })

  test('of a key that is unknown', async () => {
    for (const { client, shown } of await python('too-long', BAD_KEY))
      expect([client, shown]).toEqual([client, expect.stringMatching(INVALID_KEY) as string])
  })
})

const kindsOf = async (model: Failure) =>
  Object.fromEntries((await python(model)).map(({ client, kind }) => [client, kind]))

test('an overflow is one to LangChain and LiteLLM, which then shorten the conversation', async () => {
  expect(await kindsOf('too-long')).toMatchObject({
    LiteLLM: 'ContextWindowExceededError',
    "LiteLLM by OpenAI's client": 'ContextWindowExceededError',
    LangChain: 'OpenAIContextOverflowError',
    "LangChain by Anthropic's client": 'AnthropicContextOverflowError',
  })
})

test('a content filter is one to LiteLLM', async () => {
  expect(await kindsOf('filtered')).toMatchObject({
    LiteLLM: 'ContentPolicyViolationError',
    "LiteLLM by OpenAI's client": 'ContentPolicyViolationError',
  })
})
