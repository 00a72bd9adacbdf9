/**
 * The vendors by name: their addresses, dialects and times, which every package may need. All else that is known of a
 * vendor stands in its profile, `services/router/src/vendors/<name>.ts`.
 */

/**
 * The wire formats of conversations: OpenAI's chat completions, OpenAI's Responses API, Anthropic's Messages API. A
 * client sends its request in one, and gets its response in it.
 */
export const clientDialects = ['chat', 'responses', 'messages'] as const
export type ClientDialect = (typeof clientDialects)[number]

/** The wire formats of conversations in which the router calls backends. A backend speaks one or more. */
export const targetDialects = ['chat', 'responses', 'messages'] as const
export type TargetDialect = (typeof targetDialects)[number]

/** The wire formats that backends speak. The compiler names the code that each one needs. */
export const dialectNames = ['openai', 'anthropic'] as const
export type DialectName = (typeof dialectNames)[number]

/** The dialects of a backend of which the config names no more than this. */
export const SPOKEN: Record<DialectName, TargetDialect[]> = { openai: ['chat'], anthropic: ['messages'] }

export interface Timeouts {
  connectMs: number
  /** From the request to the first content of a stream, or to the first byte of a plain response. */
  firstByteMs: number
  /** Between two pieces after that. */
  idleMs: number
}

export interface VendorSettings {
  /** The public addresses; none where operators run the server themselves. */
  hosts?: RegExp
  /** The address for backends of which the config names none; unset where each operator has another one. */
  url?: string
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

/** The vendors that `vendor` in the config names. A setting that a backend leaves out follows from the row. */
export const VENDORS = {
  openai: { ...hosted(at('openai.com'), 'https://api.openai.com/v1'), dialects: ['chat', 'responses'] },
  azure: { ...hosted(at('azure.com')), dialects: ['chat', 'responses'] },
  anthropic: { ...hosted(at('anthropic.com'), 'https://api.anthropic.com/v1'), dialect: 'anthropic' },
  gemini: hosted(at('generativelanguage.googleapis.com'), 'https://generativelanguage.googleapis.com/v1beta/openai'),
  vertex: hosted(/(?:^|[.-])aiplatform(?:\.[\w-]+\.rep)?\.googleapis\.com$/),
  bedrock: hosted(/(?:^|\.)bedrock[\w.-]*\.(?:amazonaws\.com|api\.aws)$/),
  openrouter: hosted(at('openrouter.ai'), 'https://openrouter.ai/api/v1'),
  mistral: hosted(at('mistral.ai'), 'https://api.mistral.ai/v1'),
  groq: hosted(at('groq.com'), 'https://api.groq.com/openai/v1'),
  deepseek: hosted(at('deepseek.com'), 'https://api.deepseek.com/v1'),
  xai: hosted(at('x.ai'), 'https://api.x.ai/v1'),
  together: hosted(/(?:^|\.)together\.(?:xyz|ai)$/, 'https://api.together.xyz/v1'),
  fireworks: hosted(at('fireworks.ai'), 'https://api.fireworks.ai/inference/v1'),
  cohere: hosted(/(?:^|\.)cohere\.(?:com|ai)$/, 'https://api.cohere.ai/compatibility/v1'),
  cerebras: hosted(at('cerebras.ai'), 'https://api.cerebras.ai/v1'),
  perplexity: hosted(at('perplexity.ai'), 'https://api.perplexity.ai'),
  nvidia: hosted(at('nvidia.com'), 'https://integrate.api.nvidia.com/v1'),
  huggingface: hosted(at('huggingface.co'), 'https://router.huggingface.co/v1'),
  dashscope: hosted(at('aliyuncs.com'), 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1'),
  vllm: { dialect: 'openai', timeouts: ON_GPUS },
  sglang: { dialect: 'openai', timeouts: ON_GPUS },
  'llama.cpp': { dialect: 'openai', timeouts: ON_ONE_COMPUTER },
  ollama: { dialect: 'openai', timeouts: ON_ONE_COMPUTER },
  'lm-studio': { dialect: 'openai', timeouts: ON_ONE_COMPUTER },
} satisfies Record<string, VendorSettings>

export type Vendor = keyof typeof VENDORS

/** Vendors that the router knows by their addresses alone: a backend of theirs has the settings of a plain one. */
export const KNOWN_BY_HOST = { deepinfra: at('deepinfra.com') } satisfies Record<string, RegExp>

export type VendorName = Vendor | keyof typeof KNOWN_BY_HOST

/** A vendor's own service. */
function hosted(hosts: RegExp, url?: string): VendorSettings {
  return { hosts, ...(url === undefined ? {} : { url }), dialect: 'openai', timeouts: HOSTED }
}

/** The domain, and every host below it. */
function at(domain: string): RegExp {
  return new RegExp(`(?:^|\\.)${domain.replaceAll('.', '\\.')}$`)
}

const HOSTS: [VendorName, RegExp][] = [
  ...(Object.entries(VENDORS) as [Vendor, VendorSettings][]).flatMap(([name, { hosts }]): [VendorName, RegExp][] =>
    hosts === undefined ? [] : [[name, hosts]],
  ),
  ...(Object.entries(KNOWN_BY_HOST) as [VendorName, RegExp][]),
]

/** The vendor whose public address this is; null for a server of an operator's own. */
export function vendorByHost(url: string): VendorName | null {
  const { hostname } = new URL(url)
  return HOSTS.find(([, hosts]) => hosts.test(hostname))?.[0] ?? null
}

/** Returns true when the config knows the vendor by name. */
export function isVendor(name: string | null): name is Vendor {
  return name !== null && Object.hasOwn(VENDORS, name)
}
