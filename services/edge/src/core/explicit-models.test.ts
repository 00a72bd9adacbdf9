import { createDefaultConfig } from '@gateway/contracts/default-config'
import { capability, type Capability } from '@gateway/contracts/job'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseLane } from './choose-lane.ts'

const sections = createDefaultConfig()
const config = { revision: 'test', ...sections }
const explicit = config.models.filter((model) => model.type !== 'auto')
const auto = config.models.find((model) => model.type === 'auto')!

/** Words that make Auto take this lane or that, in any company. */
const words = fc.constantFrom(
  'write',
  'python',
  'news today',
  'prove that',
  'hi',
  'svc-code',
  'model: svc-max',
  '```',
  '🎉',
)
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.array(words, { maxLength: 12 }).map((each) => each.join(' ')),
)
const message = fc.record({
  role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const),
  content: text,
})
const messages = fc.array(message, { minLength: 1, maxLength: 5 })
const needs: fc.Arbitrary<Capability[]> = fc.uniqueArray(fc.constantFrom(...capability.options))

test('a model that is named explicitly is never rewritten: any model, on every plan, for every request', () => {
  expect(explicit).toHaveLength(25)
  fc.assert(
    fc.property(messages, needs, (messageList, needed) => {
      for (const model of explicit) {
        for (const plan of config.plans) {
          expect(chooseLane(config, plan, model, needed, messageList, 0)).toEqual({ lane: model })
        }
      }
    }),
  )
})

test('the alias becomes one of its lanes, and that lane is billed', () => {
  const lanes = auto.type === 'auto' ? auto.lanes : []
  fc.assert(
    fc.property(messages, fc.constantFrom(...config.plans), (messageList, plan) => {
      const choice = chooseLane(config, plan, auto, ['chat'], messageList, 0)
      expect(lanes).toContain(choice?.lane.id)
      expect(choice?.reason).toBeTruthy()
    }),
  )
})
