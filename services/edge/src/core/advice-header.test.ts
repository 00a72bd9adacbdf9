import { expect, test } from 'vitest'
import { adviceHeader } from './advice-header.ts'

const thinker = { advisedMinOutputTokens: 2_000 }
const asked = (wish: object) => ({ model: 'svc-ultra-pro', ...wish })

test('a cap that thinking may use up is warned of, with both ways out', () => {
  expect(adviceHeader(thinker, asked({ outputCap: 1_999 }))).toEqual({
    'x-svc-warning':
      'svc-ultra-pro may use up max_tokens (1999) by thinking and leave the answer empty; ' +
      'allow at least 2000, or send chat_template_kwargs {"enable_thinking": false}',
  })
})

test.each([
  ['the cap is as large as advised', thinker, { outputCap: 2_000 }],
  ['there is no cap', thinker, {}],
  ['thinking is disabled', thinker, { outputCap: 10, thinkingDisabled: true }],
  ['nothing is advised for the model', {}, { outputCap: 10 }],
])('where %s there is no warning', (_, model, wish) => {
  expect(adviceHeader(model, asked(wish))).toEqual({})
})
