/**
 * How each vendor streams: what comes first, where the end of an answer and its usage stand, what it writes while it is
 * silent, and for how long it is. The stand-ins of chat vendors stream by this table.
 */

import { event } from '../http-backend.ts'
import { COUNTED, TEXTS } from './answer-texts.ts'
import type { StreamManners } from './fixture.ts'
import { ofEach } from './fixtures.ts'

/** Anthropic's events are of their own: `anthropic-answers.ts` writes them. */
export const STREAM_MANNERS = ofEach(({ stream }) => stream)

const NAME = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'backend-model' }
const FILTERS = {
  id: '',
  object: '',
  created: 0,
  model: '',
  choices: [],
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
}

/** The events of one answer; `requested`: the request had `stream_options`. The sign stands between its texts. */
export function streamOf({ first, role, finish, usage, sign }: StreamManners, requested: boolean): string[] {
  const counted = (countedSoFar: object) => (usage === 'in every chunk' ? { usage: countedSoFar } : {})
  const chunk = (delta: object, finishReason: string | null, more: object = {}) =>
    event({ ...NAME, choices: [{ index: 0, delta, finish_reason: finishReason }], ...more })
  const repeated = { absent: {}, repeated: { role: 'assistant' }, null: { role: null } }[role]
  const begun = { role: 'assistant' }
  const hasOwnFinish = finish === 'in a chunk of its own'
  const atFinish = usage === 'beside the finish' || usage === 'in every chunk' ? { usage: COUNTED } : {}
  const texts = TEXTS.map((content, at) => {
    const isLast = !hasOwnFinish && at === TEXTS.length - 1
    const delta = { ...(first === 'text' && at === 0 ? begun : repeated), content }
    return chunk(delta, isLast ? 'stop' : null, isLast ? atFinish : counted({ prompt_tokens: 9, total_tokens: 9 + at }))
  })
  return [
    ...(first === 'filters' ? [event(FILTERS)] : []),
    ...(first === 'text' ? [] : [chunk({ ...begun, content: '' }, null)]),
    texts[0]!,
    ...(sign === null ? [] : [sign, sign]),
    ...texts.slice(1),
    ...(hasOwnFinish ? [chunk({ ...repeated }, 'stop', atFinish)] : []),
    ...(usage === 'always, beside an empty choice' ? [chunk({ ...begun, content: '' }, null, { usage: COUNTED })] : []),
    ...(usage === 'if asked, without choices' && requested ? [event({ ...NAME, choices: [], usage: COUNTED })] : []),
    'data: [DONE]\n\n',
  ]
}
