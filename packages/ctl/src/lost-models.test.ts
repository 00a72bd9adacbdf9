import { modelConfig } from '@gateway/contracts/config'
import { expect, test } from 'vitest'
import { lostDirectModels } from './config.ts'

const NOW = Date.parse('2026-11-22')
const model = (id: string, fields: object = {}) =>
  modelConfig.parse({ id, type: 'chat', pool: 'p', direct: true, ...fields })

test.each([
  ['one that stays is not lost', [model('gpt-5')], [model('gpt-5')], []],
  ['one that becomes an alias is not', [model('gpt-5')], [model('gpt-6', { aliases: ['gpt-5'] })], []],
  ['one that goes is', [model('gpt-5')], [], ['gpt-5']],
  ['one whose day is to come, too', [model('gpt-5', { sunsetAt: '2026-11-23' })], [], ['gpt-5']],
  ['one whose day has come is not', [model('gpt-5', { sunsetAt: '2026-11-22' })], [], []],
  ['a lane may go', [model('svc-x', { direct: false, multiplier: 1 })], [], []],
])('%s', (_, former, models, lost) => {
  const problems = lostDirectModels(former, models, NOW)
  expect(problems.map(({ message }) => /"(.+?)"/.exec(message)![1])).toEqual(lost)
})
