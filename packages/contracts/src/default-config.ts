/**
 * The default configuration: every model id of the service's catalog, and some of vendors' own, on simulated backends.
 * A config file replaces these sections one by one, each as a whole.
 *
 * The backends' address is the router's environment variable `SIMULATED_BACKEND_URL`, so the default configuration has
 * the same revision in every process.
 */

import { configFile, type ConfigFileInput, type ConfigSections } from './config.ts'

/** Without a config file, the router's environment must hold it: the base address with its version, `http://…/v1`. */
export const SIMULATED_BACKEND_VARIABLE = 'SIMULATED_BACKEND_URL'

/** The day from which legacy ids are announced as deprecated, where a model does not name its own. */
export const LEGACY_DEPRECATED_AT = '2026-01-01'

type ModelInput = NonNullable<ConfigFileInput['models']>[number]

/** The default sections; `simulatedBackendUrl` is the base address with its version where the caller knows it already. */
export function createDefaultConfig({
  simulatedBackendUrl = `\${${SIMULATED_BACKEND_VARIABLE}}`,
} = {}): ConfigSections {
  return configFile
    .omit({ extends: true, errors: true, webhooks: true, exports: true, operators: true, signIn: true, audit: true })
    .required()
    .parse({
      backends: SIMULATED_BACKENDS.map((id) => ({
        id,
        url: simulatedBackendUrl,
        // One simulated server plays both; this says which one a client calls.
        headers: { 'x-simulated-backend': id },
        capabilities: ['chat', 'tools', 'vision', 'embeddings', 'images'],
      })),
      pools: [
        ...Object.entries(SIMULATED_MODELS).map(([pool, served]) => simulatedPool(pool, served)),
        ...SIMULATED_VENDORS.map(({ id, contextWindow }) =>
          simulatedPool(vendorPool(id), { model: `sim-${id}`, contextWindow }),
        ),
      ],
      models: [...TIERS, ...OTHER_MODELS, ...LEGACY_MODELS, ...VENDOR_MODELS],
      plans: PLANS,
    } satisfies Required<Pick<ConfigFileInput, keyof ConfigSections>>)
}

/** Two, so that every pool has somewhere to fail over to. */
const SIMULATED_BACKENDS = ['simulated-a', 'simulated-b']

type SimulatedModel = { model: string; contextWindow: number }

function simulatedPool(id: string, { model, contextWindow }: SimulatedModel) {
  return {
    id,
    affinity: id === 'agent' ? ('conversation' as const) : ('none' as const),
    targets: SIMULATED_BACKENDS.map((backend) => ({ backend, model, contextWindow })),
  }
}

const SIMULATED_MODELS: Record<string, SimulatedModel> = {
  spark: { model: 'sim-spark-8b', contextWindow: 32_768 },
  bolt: { model: 'sim-bolt-14b', contextWindow: 65_536 },
  nova: { model: 'sim-nova-70b', contextWindow: 131_072 },
  atlas: { model: 'sim-atlas-235b-thinking', contextWindow: 131_072 },
  research: { model: 'sim-research-120b', contextWindow: 131_072 },
  apex: { model: 'sim-apex-1t', contextWindow: 1_048_576 },
  code: { model: 'sim-code-32b', contextWindow: 131_072 },
  vision: { model: 'sim-vision-72b', contextWindow: 65_536 },
  agent: { model: 'sim-agent-70b', contextWindow: 131_072 },
  embed: { model: 'sim-embed-768', contextWindow: 8_192 },
  'embed-fast': { model: 'sim-embed-fast-768', contextWindow: 8_192 },
  image: { model: 'sim-image-xl', contextWindow: 4_096 },
}

/**
 * Vendors' models under their own ids, as examples of list rates. The simulated backends serve them. A config file
 * names those that it has a vendor for.
 */
const SIMULATED_VENDORS = [
  { id: 'gpt-5', ownedBy: 'openai', contextWindow: 400_000 },
  { id: 'gpt-5-mini', ownedBy: 'openai', contextWindow: 400_000 },
  { id: 'claude-sonnet-4-6', ownedBy: 'anthropic', contextWindow: 200_000 },
  { id: 'claude-haiku-4-5', ownedBy: 'anthropic', contextWindow: 200_000 },
  { id: 'gemini-2.5-pro', ownedBy: 'google', contextWindow: 1_048_576 },
  { id: 'gemini-2.5-flash', ownedBy: 'google', contextWindow: 1_048_576 },
]

/** Pool ids have no dots. */
function vendorPool(modelId: string): string {
  return `direct-${modelId.replaceAll('.', '-')}`
}

const TIERS: ModelInput[] = [
  {
    id: 'svc-best',
    name: 'Auto',
    type: 'auto',
    lanes: ['svc-instant', 'svc-fast', 'svc-core', 'svc-pro', 'svc-research', 'svc-code'],
    guest: true,
    order: 1,
    purpose: 'Picks a lane per message (Spark, Bolt, Nova, Atlas, Research or Code). Billed at the routed lane.',
  },
  {
    id: 'svc-instant',
    name: 'Spark',
    type: 'chat',
    pool: 'spark',
    multiplier: 1,
    guest: true,
    order: 2,
    maxOutputTokens: 8_192,
    purpose: 'Fastest lane. Free tier.',
  },
  {
    id: 'svc-fast',
    name: 'Bolt',
    type: 'chat',
    pool: 'bolt',
    multiplier: 1.5,
    guest: true,
    order: 3,
    maxOutputTokens: 8_192,
    purpose: 'Quick everyday chat, low cost.',
  },
  {
    id: 'svc-core',
    name: 'Nova',
    type: 'chat',
    pool: 'nova',
    multiplier: 3.75,
    order: 4,
    maxOutputTokens: 16_384,
    purpose: 'Balanced flagship.',
  },
  {
    id: 'svc-pro',
    name: 'Atlas',
    type: 'chat',
    pool: 'atlas',
    multiplier: 6.7,
    availability: 'paid',
    order: 5,
    maxOutputTokens: 32_768,
    purpose: 'Deep multi-step reasoning; higher latency.',
  },
  {
    id: 'svc-research',
    name: 'Research',
    type: 'chat',
    pool: 'research',
    multiplier: 2.3,
    availability: 'paid',
    order: 6,
    maxOutputTokens: 16_384,
    purpose: 'Web-grounded research with citations.',
  },
  {
    id: 'svc-max',
    name: 'Apex',
    type: 'chat',
    pool: 'apex',
    multiplier: 13.3,
    availability: 'paid',
    order: 7,
    maxOutputTokens: 32_768,
    purpose: 'Most capable, very large context window.',
  },
  {
    id: 'svc-code',
    name: 'Code',
    type: 'chat',
    pool: 'code',
    multiplier: 1,
    availability: 'paid',
    order: 8,
    maxOutputTokens: 16_384,
    purpose: 'Code generation, review, refactoring.',
  },
  {
    id: 'svc-vision',
    name: 'Vision',
    type: 'chat',
    pool: 'vision',
    multiplier: 1.25,
    availability: 'paid',
    order: 9,
    maxOutputTokens: 8_192,
    purpose: 'Multimodal chat over image inputs.',
  },
]

const OTHER_MODELS: ModelInput[] = [
  {
    id: 'svc-embed',
    type: 'embeddings',
    pool: 'embed',
    multiplier: 1,
    guest: true,
    purpose: '768-dimension text embeddings. Accepts a string or an array of strings.',
  },
  {
    id: 'svc-embed-fast',
    type: 'embeddings',
    pool: 'embed-fast',
    multiplier: 1,
    guest: true,
    purpose: 'Same 768-dimension space, tuned for throughput on batches.',
  },
  {
    id: 'svc-image',
    type: 'images',
    pool: 'image',
    multiplier: 1,
    maxOutputTokens: 8_192,
    purpose: 'Text to image. Base64 PNG, default size 1024x1024.',
  },
  {
    id: 'svc-agent',
    type: 'chat',
    pool: 'agent',
    multiplier: 1,
    maxOutputTokens: 16_384,
    purpose: 'Tuned routing for tool-use loops and function calling.',
  },
]

/** A legacy id is served by its replacement's pool and billed at its replacement's multiplier. */
const LEGACY_MODELS: ModelInput[] = [
  { id: 'svc-ultra', type: 'chat', pool: 'nova', replacement: 'svc-core', maxOutputTokens: 16_384 },
  {
    id: 'svc-ultra-pro',
    type: 'chat',
    pool: 'atlas',
    replacement: 'svc-pro',
    maxOutputTokens: 32_768,
    advisedMinOutputTokens: 2_000,
  },
  { id: 'svc-ultra-research', type: 'chat', pool: 'research', replacement: 'svc-research', maxOutputTokens: 16_384 },
  { id: 'svc-chat-sm', type: 'chat', pool: 'spark', replacement: 'svc-instant', guest: true, maxOutputTokens: 8_192 },
  { id: 'svc-chat-md', type: 'chat', pool: 'bolt', replacement: 'svc-fast', guest: true, maxOutputTokens: 8_192 },
  {
    id: 'svc-chat-lg',
    type: 'chat',
    pool: 'nova',
    replacement: 'svc-core',
    availability: 'paid',
    maxOutputTokens: 16_384,
  },
  {
    id: 'svc-reason',
    type: 'chat',
    pool: 'atlas',
    replacement: 'svc-pro',
    availability: 'paid',
    maxOutputTokens: 32_768,
  },
]

export const LEGACY_MODEL_IDS = LEGACY_MODELS.map(({ id }) => id)

const VENDOR_MODELS: ModelInput[] = SIMULATED_VENDORS.map(({ id, ownedBy }) => ({
  id,
  type: 'chat',
  pool: vendorPool(id),
  direct: true,
  ownedBy,
  maxOutputTokens: 32_768,
  purpose: "A vendor's own model, simulated here. Pay-as-you-go at the vendor's list rates.",
}))

const PLANS: NonNullable<ConfigFileInput['plans']> = [
  { slug: 'guest-device', limit: 200_000, rpm: 10, tpm: 20_000, perDay: 50, guest: true },
  { slug: 'free', limit: 1_000_000, rpm: 60, tpm: 60_000, default: true },
  { slug: 'pro', limit: 50_000_000, rpm: 600, tpm: 1_000_000, paid: true },
  { slug: 'payg', unit: 'usd', limit: 100, rpm: 600, tpm: 1_000_000, paid: true, payAsYouGo: true },
]
