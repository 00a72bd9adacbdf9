/**
 * The gateway's config in a run: every pool has two healthy targets, bar the one that shows a response that breaks.
 */

import { GUSHER_TOKENS_PER_MINUTE, THIMBLE_TOKENS, TRICKLE_PER_MINUTE } from '../plan/owners.ts'
import type { Backend } from '../plan/places.ts'

/** The address on which a backend really listens. Several backends share a server, and a header distinguishes them. */
export type BackendUrls = Readonly<Record<Backend, string>>

/** Charges per token: milli-tokens of allowance, or nano-dollars. */
export interface Rate {
  perPromptToken: number
  perCompletionToken: number
}

const MULTIPLIERS: Record<string, number> = { 'chat-dear': 2.5 }
const VENDOR = { inputUsdPerMillion: 1.25, outputUsdPerMillion: 10 }
/** Pay-as-you-go, in nano-dollars: 3.00 per million tokens, times the multiplier. */
const BASE_NANO_USD = 3_000

/** Worked out here once more, and not with the gateway's own price list. */
export function rateOf(lane: string, unit: 'tokens' | 'usd'): Rate {
  if (lane === 'vendor-model') {
    const perToken = (usdPerMillion: number) => usdPerMillion * 1_000
    return {
      perPromptToken: perToken(VENDOR.inputUsdPerMillion),
      perCompletionToken: perToken(VENDOR.outputUsdPerMillion),
    }
  }
  const rate = (MULTIPLIERS[lane] ?? 1) * (unit === 'usd' ? BASE_NANO_USD : 1_000)
  return { perPromptToken: rate, perCompletionToken: rate }
}

/** Gemini's response to a bad key: a 400 that is no client's fault. */
const BAD_CREDENTIAL = JSON.stringify({
  error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' },
})

/** Backends of other names are at the same place as one of these. */
const PLACES: Record<string, Backend> = {
  frail: 'north',
  mortal: 'south',
  liar: 'north',
  babbler: 'north',
  pauper: 'north',
  page: 'north',
  garbler: 'north',
  'thinker-north': 'north',
  'thinker-south': 'south',
}
export const placeOf = (backend: string): string => PLACES[backend] ?? backend

/** They speak the Messages API. */
function vendorOf(id: string): object {
  return id.startsWith('thinker-') ? { vendor: 'anthropic', apiKey: 'chaos' } : {}
}

export function configOver(urls: BackendUrls): object {
  const backend = (id: string, url: string) => ({
    id,
    url,
    headers: { 'x-simulated-backend': id },
    timeouts: { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000 },
    maxConcurrent: 1_000,
    capabilities: ['chat', 'embeddings'],
  })
  const target = (backend: string, priority = 1, model = 'sim') => ({ backend, model, priority })
  const chat = (id: string, pool: string, more: object = {}) => ({
    id,
    pool,
    type: 'chat',
    multiplier: MULTIPLIERS[id] ?? 1,
    maxOutputTokens: 8_192,
    ...more,
  })
  return {
    backends: [
      backend('north', urls.north),
      backend('south', urls.south),
      backend('bulk', urls.bulk),
      ...Object.entries(PLACES).map(([id, place]) => ({ ...backend(id, urls[place]), ...vendorOf(id) })),
    ],
    pools: [
      { id: 'chat', targets: [target('north'), target('south')] },
      { id: 'bulk', targets: [target('bulk'), target('south', 2)] },
      { id: 'embed', targets: [target('bulk'), target('north', 2)] },
      // The first breaks before its content, the second responds.
      { id: 'flaky', targets: [target('frail', 1, 'sim?dieAfterChunks=1'), target('south', 2)] },
      // Each of the first breaks the protocol in its own way, the last responds.
      {
        id: 'hostile',
        targets: [
          target('liar', 1, 'sim?errorAfterChunks=1&errorBesideChoices=true'),
          target('babbler', 1, 'sim?emptyChunks=20000'),
          target('pauper', 1, `sim?status=400&body=${encodeURIComponent(BAD_CREDENTIAL)}`),
          target('page', 1, 'sim?html=true'),
          target('garbler', 1, 'sim?garbageAfterChunks=1'),
          target('south', 2),
        ],
      },
      // Both sign their thoughts, and need them back.
      {
        id: 'signed',
        targets: [target('thinker-north', 1, 'claude-thinking'), target('thinker-south', 1, 'claude-thinking')],
      },
      // There is no other, and it breaks in the middle.
      { id: 'dying', targets: [target('mortal', 1, 'sim?dieAfterChunks=4')] },
    ],
    models: [
      chat('chat-one', 'chat'),
      chat('chat-dear', 'chat'),
      chat('vendor-model', 'chat', { multiplier: undefined, direct: true, rates: VENDOR }),
      chat('bulk', 'bulk'),
      chat('flaky', 'flaky'),
      chat('hostile', 'hostile'),
      chat('dying', 'dying'),
      chat('signed', 'signed'),
      { id: 'embed', pool: 'embed', type: 'embeddings', multiplier: 1 },
    ],
    plans: [
      { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
      { slug: 'team', limit: 1e12, rpm: 1_000_000, tpm: 1e9, paid: true, default: true },
      { slug: 'payg', unit: 'usd', limit: 1e6, rpm: 1_000_000, tpm: 1e9, paid: true, payAsYouGo: true },
      { slug: 'trickle', limit: 1e12, rpm: TRICKLE_PER_MINUTE, tpm: 1e9 },
      { slug: 'thimble', limit: THIMBLE_TOKENS, rpm: 1_000_000, tpm: 1e9 },
      { slug: 'gusher', limit: 1e12, rpm: 1_000_000, tpm: GUSHER_TOKENS_PER_MINUTE },
    ],
  }
}

/** The plan of each kind of owner. */
export const PLAN_OF = {
  team: 'team',
  probe: 'team',
  payg: 'payg',
  trickle: 'trickle',
  thimble: 'thimble',
  gusher: 'gusher',
} as const
