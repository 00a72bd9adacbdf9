/**
 * The vendors that `vendor` in the config knows: what the config leaves out follows from them. How requests are written
 * and signed for each is the router's: its `vendors.ts` and `credentials/`.
 */

/**
 * The wire formats of conversations: OpenAI's chat completions, OpenAI's Responses API, Anthropic's Messages API. A client
 * asks in one and is answered in it.
 */
export const clientDialects = ['chat', 'responses', 'messages'] as const
export type ClientDialect = (typeof clientDialects)[number]

/** The wire formats of conversations that the router asks in. A backend speaks one or more. */
export const targetDialects = ['chat', 'responses', 'messages'] as const
export type TargetDialect = (typeof targetDialects)[number]

/** The wire formats that backends speak. The compiler names the code that each one needs. */
export const dialectNames = ['openai', 'anthropic'] as const
export type DialectName = (typeof dialectNames)[number]

/** What a backend speaks of which the config names no more than this. */
export const SPOKEN: Record<DialectName, TargetDialect[]> = { openai: ['chat'], anthropic: ['messages'] }

export interface Timeouts {
  connectMs: number
  /** From the request to the first content of a stream, or to the first byte of a plain answer. */
  firstByteMs: number
  /** Between two pieces after that. */
  idleMs: number
}

export interface VendorSettings {
  dialect: DialectName
  /** Where it is more than its dialect says. */
  dialects?: TargetDialect[]
  timeouts: Timeouts
}

/** A server of which nothing is known but that it speaks the dialect. */
export const PLAIN: VendorSettings = {
  dialect: 'openai',
  timeouts: { connectMs: 2_000, firstByteMs: 30_000, idleMs: 30_000 },
}

/** Models that reason are silent for minutes. A new connection may need a new token, too. */
const HOSTED = { connectMs: 5_000, firstByteMs: 300_000, idleMs: 120_000 }
/** The first request may load a model from disk, and a CPU reads a long prompt for minutes. */
const ON_ONE_COMPUTER = { connectMs: 2_000, firstByteMs: 300_000, idleMs: 60_000 }
/** On GPUs only the queue is long. */
const ON_GPUS = { connectMs: 2_000, firstByteMs: 120_000, idleMs: 60_000 }

export const VENDORS = {
  openai: { dialect: 'openai', dialects: ['chat', 'responses'], timeouts: HOSTED },
  azure: { dialect: 'openai', dialects: ['chat', 'responses'], timeouts: HOSTED },
  anthropic: { dialect: 'anthropic', timeouts: HOSTED },
  gemini: { dialect: 'openai', timeouts: HOSTED },
  vertex: { dialect: 'openai', timeouts: HOSTED },
  bedrock: { dialect: 'openai', timeouts: HOSTED },
  openrouter: { dialect: 'openai', timeouts: HOSTED },
  vllm: { dialect: 'openai', timeouts: ON_GPUS },
  sglang: { dialect: 'openai', timeouts: ON_GPUS },
  'llama.cpp': { dialect: 'openai', timeouts: ON_ONE_COMPUTER },
  ollama: { dialect: 'openai', timeouts: ON_ONE_COMPUTER },
  'lm-studio': { dialect: 'openai', timeouts: ON_ONE_COMPUTER },
} satisfies Record<string, VendorSettings>

export type Vendor = keyof typeof VENDORS
