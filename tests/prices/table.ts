/**
 * The cost of one request on each plan, written out by hand. It is in thousandths of an allowance token on plans that
 * count tokens, in billionths of a dollar on pay-as-you-go. Nothing here is computed by the gateway.
 */

export const PLANS = ['guest-device', 'free', 'pro', 'payg'] as const
export type Plan = (typeof PLANS)[number]

/** The plan does not include the model: 429 `plan_limit`. */
export const REFUSED = null

export interface Row {
  model: string
  requestKind: keyof typeof USED
  cost: Record<Plan, number | null>
}

/** The usage that the simulated backend counts for the request of each kind. */
export const USED = {
  /** 40 tokens, of which 28 are of the conversation so far. */
  chat: { prompt_tokens: 37, completion_tokens: 3, cached_tokens: 28, reasoning_tokens: 0 },
  /** The same, and 160 tokens of thinking: 200. */
  thinking: { prompt_tokens: 37, completion_tokens: 163, cached_tokens: 28, reasoning_tokens: 160 },
  embeddings: { prompt_tokens: 4, completion_tokens: 0, cached_tokens: 0, reasoning_tokens: 0 },
  images: { prompt_tokens: 3, completion_tokens: 1_024, cached_tokens: 0, reasoning_tokens: 0 },
}

const row = (
  model: string,
  requestKind: Row['requestKind'],
  guest: number | null,
  free: number | null,
  pro: number | null,
  payg: number,
): Row => ({ model, requestKind, cost: { 'guest-device': guest, free, pro, payg } })

export const TABLE: Row[] = [
  // Tiers: 40 tokens x the multiplier (Atlas thinks: 200), and 3 dollars per million of that.
  row('svc-instant', 'chat', 40_000, 40_000, 40_000, 120_000),
  row('svc-fast', 'chat', 60_000, 60_000, 60_000, 180_000),
  row('svc-core', 'chat', REFUSED, 150_000, 150_000, 450_000),
  row('svc-pro', 'thinking', REFUSED, REFUSED, 1_340_000, 4_020_000),
  row('svc-research', 'chat', REFUSED, REFUSED, 92_000, 276_000),
  row('svc-max', 'chat', REFUSED, REFUSED, 532_000, 1_596_000),
  row('svc-code', 'chat', REFUSED, REFUSED, 40_000, 120_000),
  row('svc-vision', 'chat', REFUSED, REFUSED, 50_000, 150_000),

  row('svc-embed', 'embeddings', 4_000, 4_000, 4_000, 12_000),
  row('svc-embed-fast', 'embeddings', 4_000, 4_000, 4_000, 12_000),
  row('svc-image', 'images', REFUSED, 1_027_000, 1_027_000, 3_081_000),
  row('svc-agent', 'chat', REFUSED, 40_000, 40_000, 120_000),

  row('svc-ultra', 'chat', REFUSED, 150_000, 150_000, 450_000),
  row('svc-ultra-pro', 'thinking', REFUSED, 1_340_000, 1_340_000, 4_020_000),
  row('svc-ultra-research', 'chat', REFUSED, 92_000, 92_000, 276_000),
  row('svc-chat-sm', 'chat', 40_000, 40_000, 40_000, 120_000),
  row('svc-chat-md', 'chat', 60_000, 60_000, 60_000, 180_000),
  row('svc-chat-lg', 'chat', REFUSED, REFUSED, 150_000, 450_000),
  row('svc-reason', 'thinking', REFUSED, REFUSED, 1_340_000, 4_020_000),

  // Direct models: 9 prompt tokens, 28 cached ones and 3 of the response, each at its list rate.
  row('gpt-5', 'chat', REFUSED, REFUSED, REFUSED, 9 * 1_250 + 28 * 125 + 3 * 10_000),
  row('gpt-5-mini', 'chat', REFUSED, REFUSED, REFUSED, 9 * 250 + 28 * 25 + 3 * 2_000),
  row('claude-sonnet-4-6', 'chat', REFUSED, REFUSED, REFUSED, 9 * 3_000 + 28 * 300 + 3 * 15_000),
  row('claude-haiku-4-5', 'chat', REFUSED, REFUSED, REFUSED, 9 * 1_000 + 28 * 100 + 3 * 5_000),
  row('gemini-2.5-pro', 'chat', REFUSED, REFUSED, REFUSED, 9 * 1_250 + 28 * 125 + 3 * 10_000),
  row('gemini-2.5-flash', 'chat', REFUSED, REFUSED, REFUSED, 9 * 300 + 28 * 30 + 3 * 2_500),
]

/** All chat models respond to the same messages with the same three tokens. */
export const CONVERSATION = [
  { role: 'user', content: 'Hello, who are you?' },
  { role: 'assistant', content: 'A gateway. Ask me anything you like.' },
  { role: 'user', content: 'Say: one two three' },
]

export function requestFor({ model, requestKind }: Pick<Row, 'model' | 'requestKind'>): { path: string; body: object } {
  switch (requestKind) {
    case 'embeddings':
      return { path: '/v1/embeddings', body: { model, input: ['one two three', 'four'] } }
    case 'images':
      return { path: '/v1/images/generations', body: { model, prompt: 'a red square' } }
    default:
      return { path: '/v1/chat/completions', body: { model, messages: CONVERSATION } }
  }
}
