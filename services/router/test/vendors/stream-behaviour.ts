/**
 * The behaviour of each vendor's streams: the first event, the places of the end and of the usage, the keep-alive, and the longest
 * silence. The stand-ins of chat vendors stream by this table.
 */

import { event } from '../http-backend.ts'
import { COUNTED, TEXTS } from './reply-texts.ts'
import type { StreamBehaviour } from './fixture.ts'
import { ofEach } from './fixtures.ts'

/** Anthropic's events are of their own: `anthropic-replies.ts` writes them. */
export const STREAM_BEHAVIOURS = ofEach(({ stream }) => stream)

const NAME = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'backend-model' }
const FILTERS = {
  id: '',
  object: '',
  created: 0,
  model: '',
  choices: [],
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
}

/** The events of one response; `requested`: the request had `stream_options`. The keep-alive stands between its texts. */
export function streamOf({ first, role, finish, usage, keepAlive }: StreamBehaviour, requested: boolean): string[] {
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
    ...(keepAlive === null ? [] : [keepAlive, keepAlive]),
    ...texts.slice(1),
    ...(hasOwnFinish ? [chunk({ ...repeated }, 'stop', atFinish)] : []),
    ...(usage === 'always, beside an empty choice' ? [chunk({ ...begun, content: '' }, null, { usage: COUNTED })] : []),
    ...(usage === 'if requested, without choices' && requested
      ? [event({ ...NAME, choices: [], usage: COUNTED })]
      : []),
    'data: [DONE]\n\n',
  ]
}
