import { parseExactly } from '@gateway/contracts/json'
import { modelConfig, type ModelConfig } from '@gateway/contracts/config'
import { describe, expect, test } from 'vitest'
import { chat, embeddings, images } from './inference-kinds.ts'

const model = (fields: object): ModelConfig => modelConfig.parse({ pool: 'p', type: 'chat', multiplier: 1, ...fields })
const MESSAGES = [{ role: 'user', content: 'Hi' }]

describe('a request that names no model', () => {
  const own = [
    model({ id: 'ours', default: true }),
    model({ id: 'pictures', type: 'images', default: true }),
    model({ id: 'svc-chat-md' }),
  ]
  test.each([
    ['asks for the contract where the config says nothing', [], 'svc-chat-md', 'svc-image'],
    ['asks for the models that the config says', own, 'ours', 'pictures'],
  ])('%s', (_, models, ofChat, ofImages) => {
    expect(chat({ messages: MESSAGES }, models).model).toBe(ofChat)
    expect(images({ prompt: 'A fox' }, models).model).toBe(ofImages)
    expect(chat({ messages: MESSAGES, model: 'other' }, models).model).toBe('other')
  })
})

test('a number with too many digits is named so that its author knows it', () => {
  const body = parseExactly('{"max_tokens":9223372036854775807}') as object
  expect(() => chat({ messages: MESSAGES, ...body }, [])).toThrow(/^max_tokens: .*9007199254740991/)
})

describe('the length of vectors', () => {
  const plain = model({ id: 'svc-embed', type: 'embeddings' })
  const flexible = model({ id: 'long', type: 'embeddings', dimensions: 1_536, minDimensions: 256 })
  const inference = (dimensions?: number) => embeddings({ model: 'm', input: 'Hi', dimensions }, [])

  test.each([
    [plain, undefined, { dimensions: 768, isShortened: false }],
    [plain, 768, { dimensions: 768, isShortened: false }],
    [flexible, undefined, { dimensions: 1_536, isShortened: false }],
    [flexible, 256, { dimensions: 256, isShortened: true }],
  ])('of $id, with a requested %s', (of, dimensions, vectors) => {
    expect(inference(dimensions).vectorsOf!(of)).toEqual(vectors)
  })

  test.each([
    [plain, 256, 'dimensions: must be 768 for svc-embed'],
    [flexible, 255, 'dimensions: must be from 256 to 1536 for long'],
    [flexible, 1_537, 'dimensions: must be from 256 to 1536 for long'],
  ])('of $id is never %s: the client is informed', (of, dimensions, message) => {
    expect(() => inference(dimensions).vectorsOf!(of)).toThrow(message)
  })
})
