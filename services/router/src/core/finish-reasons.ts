/**
 * The meaning of finish reasons. OpenAI's words are a few; the profiles of vendors have the others
 * (`vendors/meanings.ts`).
 */

export type Ending = 'stop' | 'length' | 'content_filter' | 'tool_calls'

/** `failure`: the server itself has stopped. */
export type FinishMeaning = Ending | 'failure'

/** By the word in lower case. Any other word is an ordinary end. */
export type FinishReasons = ReadonlyMap<string, FinishMeaning>

/** OpenAI's, of today and before, and Anthropic's. */
export const COMMON_FINISH_REASONS: FinishReasons = new Map(
  Object.entries<FinishMeaning>({
    tool_calls: 'tool_calls',
    function_call: 'tool_calls',
    length: 'length',
    max_tokens: 'length',
    content_filter: 'content_filter',
  }),
)

/** Google writes `content_filter: RECITATION`, too. */
export function endingOf(finishReason: unknown, reasons: FinishReasons = COMMON_FINISH_REASONS): Ending {
  if (typeof finishReason !== 'string') return 'stop'
  const meaning = reasons.get(finishReason.toLowerCase().split(':', 1)[0]!)
  return meaning === undefined || meaning === 'failure' ? 'stop' : meaning
}
