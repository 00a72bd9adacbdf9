/**
 * The config file (`GATEWAY_CONFIG`): the shape of each section. Missing sections come from `default-config.ts`.
 * `complete-config.ts` fills in derived fields (a legacy model's multiplier). Cross-references (a pool's backend, a
 * model's pool) are checked by `check-config.ts`.
 */

import * as z from 'zod'
import { administrationSections, type AdministrationSettings } from './administration/settings.ts'
import { hostedTools, USUAL_MOST_TOOL_CALLS } from './hosted-tools.ts'
import { capability } from './job.ts'
import { planUnit } from './usage.ts'
import { type ExportConfig, exportsSection } from './exports.ts'
import { type WebhookConfig, webhooksSection } from './webhooks.ts'
import { dialectNames, PLAIN, SPOKEN, targetDialects, VENDORS, type Vendor, type VendorSettings } from './vendors.ts'

/** Ids become bus subjects, header values and metric labels, hence the narrow alphabet. */
const id = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, - and _, at most 63')
const modelId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$/, 'must be a model id such as svc-core or gpt-5')
const isoDate = z.iso.date('must be a date such as 2026-01-01')
const positiveMs = z.int().min(1)

/** Decided on the shortest text that reads back as this number, so that 0.1 has one decimal and never seventeen. */
function hasDecimals(value: number, atMost: number): boolean {
  return Number(value.toFixed(atMost)) === value
}

/** Up to three decimals, so that a token's charge is a whole number of milli-tokens. */
const multiplier = z
  .number()
  .min(0)
  .max(1000)
  .refine((value) => hasDecimals(value, 3), 'may have three decimals at the most')

/** `${NAME}` in a backend's strings stands for the router's environment variable of that name. */
export const PLACEHOLDER = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

const httpUrl = z.url({ protocol: /^https?$/ })
/** May hold `${NAME}`; once that is resolved, it is an http or https address. */
export const backendUrl = z
  .string()
  .refine(
    (value) => /\$\{[A-Za-z_]/.test(value) || httpUrl.safeParse(value).success,
    'must be an http or https address such as https://api.openai.com/v1',
  )

/** The vendor decides these where the file does not; the default here is that of a backend without a vendor. */
const ms = (plain: number) => positiveMs.optional().meta({ default: plain })

export const backendConfig = z
  .strictObject({
    id,
    /** The dialect's base address with its version: `https://api.openai.com/v1`. The vendor's, where it has one. */
    url: backendUrl.optional(),
    vendor: z.enum(Object.keys(VENDORS) as [Vendor, ...Vendor[]]).optional(),
    dialect: z.enum(dialectNames).optional().meta({ default: PLAIN.dialect }),
    /** The wire formats of conversations that it takes; the vendor's, or else the dialect's, where it is left out. */
    dialects: z.array(z.enum(targetDialects)).min(1).optional(),
    /** May hold `${NAME}`, replaced from the router's environment. */
    apiKey: z.string().optional(),
    /** Sent with every request; values may hold `${NAME}`, as `apiKey`. */
    headers: z
      .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be a header name'), z.string())
      .default({}),
    timeouts: z
      .strictObject({
        connectMs: ms(PLAIN.timeouts.connectMs),
        firstByteMs: ms(PLAIN.timeouts.firstByteMs),
        idleMs: ms(PLAIN.timeouts.idleMs),
      })
      .prefault({}),
    maxConcurrent: z.int().min(1).default(64),
    capabilities: z.array(capability).min(1).default(['chat', 'tools']),
    /** Control parameters that clients may send to it, as `priority` or `chat_template_kwargs.chat_template`. */
    allowParameters: z.array(z.string().min(1)).default([]),
  })
  .transform(({ url, dialect: named, dialects, timeouts, ...rest }, { addIssue }) => {
    const known: VendorSettings = rest.vendor === undefined ? PLAIN : VENDORS[rest.vendor]
    const address = url ?? known.url
    if (address === undefined) {
      addIssue({
        code: 'invalid_type',
        expected: 'string',
        input: url,
        path: ['url'],
        message: 'is required: expected string',
      })
      return z.NEVER
    }
    const { connectMs, firstByteMs, idleMs } = known.timeouts
    const dialect = named ?? known.dialect
    return {
      ...rest,
      url: address,
      dialect,
      dialects: dialects ?? (named === undefined ? known.dialects : undefined) ?? SPOKEN[dialect],
      timeouts: {
        connectMs: timeouts.connectMs ?? connectMs,
        firstByteMs: timeouts.firstByteMs ?? firstByteMs,
        idleMs: timeouts.idleMs ?? idleMs,
      },
    }
  })

const targetConfig = z.strictObject({
  backend: id,
  model: z.string().min(1),
  /** Lower is tried first. */
  priority: z.int().min(1).default(1),
  weight: z.int().min(1).max(1000).default(1),
  contextWindow: z.int().min(1).optional(),
})

export const poolConfig = z.strictObject({
  id,
  affinity: z.enum(['none', 'conversation']).default('none'),
  targets: z.array(targetConfig).min(1),
})

/** Up to six decimals, so that a thousand tokens cost a whole number of nano-dollars. */
const usdPerMillion = z
  .number()
  .min(0)
  .max(1_000_000)
  .refine((value) => hasDecimals(value, 6), 'may have six decimals at the most')

const ratesPerToken = {
  inputUsdPerMillion: usdPerMillion,
  outputUsdPerMillion: usdPerMillion,
  cachedInputUsdPerMillion: usdPerMillion.optional(),
  cacheWriteUsdPerMillion: usdPerMillion.optional(),
  cacheWriteHourUsdPerMillion: usdPerMillion.optional(),
  audioInputUsdPerMillion: usdPerMillion.optional(),
  cachedAudioInputUsdPerMillion: usdPerMillion.optional(),
  audioOutputUsdPerMillion: usdPerMillion.optional(),
}

/** Up to nine decimals, so that a thousand calls cost a whole number of nano-dollars. */
const usdPerCall = z
  .number()
  .min(0)
  .max(1_000)
  .refine((value) => hasDecimals(value, 9), 'may have nine decimals at the most')

/** A vendor's prices for a model's tokens. Where it is left out, it comes from the vendor's price list. */
export const vendorRates = z.strictObject({
  ...ratesPerToken,
  /** The rates of the whole request when its prompt has more tokens than `aboveTokens`. */
  longPrompt: z.strictObject({ aboveTokens: z.int().min(1), ...ratesPerToken }).optional(),
  /** Which list or contract the rates are from, and of which day; every ledger row has it. */
  source: z.string().min(1).max(200).optional(),
  asOf: isoDate.optional(),
})
export type VendorRates = z.infer<typeof vendorRates>

const modelCommon = {
  id: modelId,
  name: z.string().optional(),
  availability: z.enum(['all', 'paid']).default('all'),
  guest: z.boolean().default(false),
  order: z.int().optional(),
  maxOutputTokens: z.int().min(1).optional(),
  /**
   * For models that think first: a smaller cap may be used up before the visible output, so it gets a warning header.
   */
  advisedMinOutputTokens: z.int().min(1).optional(),
  ownedBy: z.string().default('svc'),
  purpose: z.string().optional(),
  replacement: modelId.optional(),
  deprecatedAt: isoDate.optional(),
  sunsetAt: isoDate.optional(),
  /** The model of requests that name none. */
  default: z.boolean().default(false),
  /** Other names that clients may use, for tools that insist on a vendor's. */
  aliases: z.array(modelId).default([]),
  /** The list of models names its aliases, too. */
  listed: z.boolean().default(false),
}

/** The contract's. */
export const DEFAULT_DIMENSIONS = 768
const MOST_DIMENSIONS = 16_384

export const servedModelConfig = z.strictObject({
  ...modelCommon,
  type: z.enum(['chat', 'embeddings', 'images']),
  pool: id,
  multiplier: multiplier.optional(),
  /** A vendor's own model, billed at its list rates on pay-as-you-go plans only. */
  direct: z.boolean().default(false),
  rates: vendorRates.optional(),
  /** The tools of a vendor that requests may have it run. */
  hostedTools: z.array(z.enum(hostedTools)).default([]),
  /** Their price for each call. Where it is left out, it comes from the vendor's price list. */
  toolUsdPerCall: z.partialRecord(z.enum(hostedTools), usdPerCall).optional(),
  /** The most calls of one request. */
  maxToolCalls: z.int().min(1).max(1_000).default(USUAL_MOST_TOOL_CALLS),
  /** Embeddings: the length of vectors, unless a client requests shorter ones. */
  dimensions: z.int().min(1).max(MOST_DIMENSIONS).optional().meta({ default: DEFAULT_DIMENSIONS }),
  /** Embeddings: the shortest vectors that a client may request. */
  minDimensions: z.int().min(1).max(MOST_DIMENSIONS).optional(),
})

const autoModelConfig = z.strictObject({
  ...modelCommon,
  type: z.literal('auto'),
  lanes: z.array(modelId).min(1),
  /** Lanes beside the usual six, learnt from descriptions of their purpose. */
  own: z
    .array(
      z.strictObject({
        lane: modelId,
        description: z.string().min(20).max(2_000),
        examples: z.array(z.string().min(3).max(2_000)).min(5).max(200),
      }),
    )
    .max(20)
    .optional(),
  /** This lane serves every request; Auto's own choice is only counted. */
  shadow: modelId.optional(),
})

export const modelConfig = z.discriminatedUnion('type', [servedModelConfig, autoModelConfig])

export const planConfig = z.strictObject({
  slug: id,
  unit: planUnit.default('tokens'),
  /** Allowance per calendar month, in `unit`. */
  limit: z.number().min(0).max(1e12),
  /** Requests in any 60 seconds. */
  rpm: z.int().min(1).max(1_000_000),
  /** Tokens per minute: the size of the bucket, and its refill. Up to twice as many can pass in 60 seconds. */
  tpm: z.int().min(1).max(1e9),
  perDay: z.int().min(1).optional(),
  /** Guests: new devices per hour and client network. */
  newDevicesPerHour: z.int().min(1).max(100_000).default(20),
  guest: z.boolean().default(false),
  default: z.boolean().default(false),
  paid: z.boolean().default(false),
  /** Auto's preference where several lanes will do; without it, the likeliest. */
  autoTakes: z.enum(['cheapest', 'best']).optional(),
  payAsYouGo: z.boolean().default(false),
  /**
   * Owners of a project may switch its overage: `limited`, below a spend limit that an operator has set, or `always`. Without it, an
   * operator alone does.
   */
  ownersSwitchOverage: z.enum(['limited', 'always']).optional(),
})

/**
 * The form of errors for clients of chat, where the contract makes them flat. `auto` chooses flat or nested by the
 * client's own headers.
 */
export const errorShapes = ['auto', 'flat', 'openai'] as const
export type ErrorShape = (typeof errorShapes)[number]

/** A file names any of the four sections; each named one replaces the default whole, or adds to it by `extends`. */
export const configFile = z.strictObject({
  extends: z.literal('default').optional(),
  errors: z.enum(errorShapes).optional().meta({ default: 'auto' }),
  backends: z.array(backendConfig).min(1).optional(),
  pools: z.array(poolConfig).min(1).optional(),
  models: z.array(modelConfig).min(1).optional(),
  plans: z.array(planConfig).min(1).optional(),
  ...administrationSections,
  webhooks: webhooksSection.default([]),
  exports: exportsSection.default([]),
})

/** The file's sections with every field's default filled in; one of the four may still be missing. */
export type ConfigFile = z.infer<typeof configFile>

export type BackendConfig = z.infer<typeof backendConfig>
export type PoolConfig = z.infer<typeof poolConfig>
export type ServedModelConfig = z.infer<typeof servedModelConfig>
export type AutoModelConfig = z.infer<typeof autoModelConfig>
export type ModelConfig = z.infer<typeof modelConfig>
export type PlanConfig = z.infer<typeof planConfig>
export type ConfigFileInput = z.input<typeof configFile>

/** All four sections. */
export interface ConfigSections {
  backends: BackendConfig[]
  pools: PoolConfig[]
  models: ModelConfig[]
  plans: PlanConfig[]
}

/** A whole, checked configuration. `revision` changes with any change of it. */
export interface GatewayConfig extends ConfigSections, Partial<AdministrationSettings> {
  /** `auto` where it is left out. */
  errors?: ErrorShape
  /** None where it is left out. */
  webhooks?: WebhookConfig[]
  exports?: ExportConfig[]
  revision: string
}
