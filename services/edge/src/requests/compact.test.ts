import { modelConfig, type ServedModelConfig } from '@gateway/contracts/config'
import { MOST_COMPACTION_PROMPT_BYTES } from '@gateway/contracts/responses'
import { describe, expect, test } from 'vitest'
import { compact } from './compact.ts'
import { responses } from './responses.ts'

const LANE = modelConfig.parse({ id: 'm', pool: 'p', type: 'chat', multiplier: 1 }) as ServedModelConfig
const TRIGGER = { type: 'compaction_trigger' }
const INPUT = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'Hello.' },
]
const parsed = (rest: object) => compact({ model: 'svc-code', input: INPUT, ...rest }, [])
const textOf = (body: Uint8Array) => Buffer.from(body).toString()

describe('a request to compact', () => {
  test('reaches the router as the client wrote it, without the members that the router writes', () => {
    const rest = { instructions: 'Be brief.', prompt_cache_key: 'k', service_tier: 'auto' }
    const { body, ...request } = parsed(rest)
    expect(textOf(body)).toBe(JSON.stringify({ input: INPUT, ...rest }))
    expect(request).toMatchObject({ kind: 'chat', dialect: 'responses', compaction: 'endpoint', stream: false })
  })

  test.each([
    [{ model: undefined }, 'model: is required'],
    [{ input: undefined }, 'input:'],
    [{ stream: true }, 'stream: must be left out'],
    [{ previous_response_id: 'resp_1' }, 'previous_response_id: must be left out'],
    [{ previous_response_id: 'resp_1', input: undefined }, 'previous_response_id: must be left out'],
    [{ input: [{ type: 'compaction' }] }, 'input[0].encrypted_content: is required'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0].type: must not be item_reference'],
  ])('%j is refused with %s', (rest, message) => {
    expect(() => parsed(rest)).toThrow(message)
  })

  test("reserves the conversation, the router's own words to the model, and the lane's output", () => {
    const ordinary = responses({ model: 'm', input: INPUT }, []).estimate(LANE)
    const estimate = parsed({}).estimate(LANE)
    const more = estimate.maxPromptTokens - ordinary.maxPromptTokens
    expect(more).toBeGreaterThanOrEqual(MOST_COMPACTION_PROMPT_BYTES)
    expect(estimate.maxOutputTokens).toBe(ordinary.maxOutputTokens)
  })

  test('shows Auto the conversation alone', () => {
    expect(parsed({}).messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  test('of a conversation stays with the backend that holds its prompt cache', () => {
    expect(parsed({}).conversationKey!()).toBe(responses({ model: 'm', input: INPUT }, []).conversationKey!())
  })
})

describe('a trigger as the last item', () => {
  test.each([true, false])('compacts, whole or as a stream (stream: %s)', (stream) => {
    const request = responses({ model: 'm', stream, input: [...INPUT, TRIGGER] }, [])
    expect(request).toMatchObject({ compaction: 'trigger', stream })
    expect(textOf(request.body)).toBe(JSON.stringify({ input: [...INPUT, TRIGGER], store: false }))
  })

  test('must be the last one', () => {
    const misplaced = () => responses({ model: 'm', input: [INPUT[0], TRIGGER, INPUT[1]] }, [])
    expect(misplaced).toThrow('input[1].type: must be the last item')
  })

  test('is none in a text', () => {
    expect(responses({ model: 'm', input: 'compaction_trigger' }, []).compaction).toBeUndefined()
  })
})
