/**
 * The meaning of finish reasons of all vendors. OpenAI's words are a few; some servers of its convention have their own.
 */

export type Ending = 'stop' | 'length' | 'content_filter' | 'tool_calls'

const ENDINGS = new Map(
  Object.entries<Ending>({
    tool_calls: 'tool_calls',
    function_call: 'tool_calls',
    length: 'length',
    // Mistral: the window is full (the types of `@mistralai/mistralai`, 2026).
    model_length: 'length',
    max_tokens: 'length',
    content_filter: 'content_filter',
    // Google's own words, which its compatible addresses may pass on: HKUDS/Vibe-Trading#308 (2026-06-25).
    safety: 'content_filter',
    recitation: 'content_filter',
    blocklist: 'content_filter',
    prohibited_content: 'content_filter',
    spii: 'content_filter',
    image_safety: 'content_filter',
  }),
)

/** Google writes `content_filter: RECITATION`, too. Any other word is an ordinary end. */
export function endingOf(finishReason: unknown): Ending {
  if (typeof finishReason !== 'string') return 'stop'
  const word = finishReason.toLowerCase().split(':', 1)[0]!
  return ENDINGS.has(word) ? ENDINGS.get(word)! : 'stop'
}
