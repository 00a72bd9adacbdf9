/**
 * Vendors' list rates, from the data that comes with the price package: no network, no clock. The list is that of one release,
 * read as of that release's day. So every process with this version bills by the same rates. They change with an upgrade of the
 * package, which is one commit with its date.
 *
 * Returns nothing where the counts that a request reports (prompt, cached, completion) cannot express the rates exactly. The
 * check of the configuration refuses such a model; the gateway never serves it at a guess.
 */

import type { HostedTool } from '@gateway/contracts/hosted-tools'
import type { ServedModelConfig, VendorRates } from '@gateway/contracts/config'
import { calcPrice, REMOTE_DATA_JSON_URL, type ModelPrice, type Provider } from '@pydantic/genai-prices'

/** The installed release and the day on which it came out; a test holds them against the package. */
export const PRICE_LIST = { source: '@pydantic/genai-prices 0.1.8', asOf: '2026-09-23' } as const

/** Where the package's authors publish the list between two releases. */
export const PUBLISHED_AT = REMOTE_DATA_JSON_URL

/** Prices of a vendor's tools in US dollars for each call, where the list has them for the model. */
export type ListedTools = Partial<Record<HostedTool, number>>

export interface ListedRates {
  rates: VendorRates
  tools?: ListedTools
  /** The list announces other rates from this day on; they hold with a release of the list that is as late. */
  changesOn?: string
}

/** The installed list, or a newer one that somebody has fetched. */
export interface PriceList {
  /** Every ledger row names it. */
  source: string
  asOf: string
  /** The providers of a fetched list. */
  providers?: Provider[]
}

/** A list as its authors publish it between two releases. Throws where it is none. */
export function readPriceList(published: unknown, from: { source: string; asOf: string }): PriceList {
  const isProvider = (value: unknown) => {
    const { id, models } = Object(value) as Record<string, unknown>
    return typeof id === 'string' && Array.isArray(models)
  }
  if (!Array.isArray(published) || published.length === 0 || !published.every(isProvider)) {
    throw new Error('is no list of vendors with their models')
  }
  return { ...from, providers: published as Provider[] }
}

export function listRates(
  { id, type, ownedBy }: Pick<ServedModelConfig, 'id' | 'type' | 'ownedBy'>,
  list: PriceList = PRICE_LIST,
): ListedRates | null {
  if (type === 'images' || SEARCHES_ALWAYS.test(id)) return null
  const vendor = ownedBy.toLowerCase()
  const provider = list.providers?.find((one) => one.id === vendor)
  if (list.providers && !provider) return null
  const whose = provider ? { provider } : { providerId: vendor }
  const listed = calcPrice({}, id, { ...whose, timestamp: new Date(list.asOf) })
  // The package also finds vendors by resemblance; whose rates these are must not be a guess.
  if (listed?.provider.id !== vendor) return null
  const { prices } = listed.model
  if (Array.isArray(prices) && prices.some(({ constraint }) => constraint?.type === 'time_of_date')) return null
  const rates = toRates(listed.model_price, type)
  const { source, asOf } = list
  if (!rates) return null
  const tools = toolsIn(listed.model_price)
  return {
    rates: { ...rates, source, asOf },
    ...(Object.keys(tools).length > 0 && { tools }),
    ...nextChange(prices, asOf),
  }
}

/** OpenAI's chat models that search for every response, as often as they like, and report no count (community.openai.com 1369991, 2025). */
const SEARCHES_ALWAYS = /-search-(?:preview|api)(?:-|$)/

const TOOLS: Record<string, HostedTool> = { web_searches_kcount: 'web_search', storage_searches_kcount: 'file_search' }

/** The list counts them by the thousand. */
function toolsIn(price: ModelPrice): ListedTools {
  return Object.fromEntries(
    Object.entries(TOOLS).flatMap(([unit, tool]) => {
      const usdPerThousand = price[unit]
      return typeof usdPerThousand === 'number' ? [[tool, Number((usdPerThousand / 1_000).toFixed(9))]] : []
    }),
  )
}

type Prices = NonNullable<ReturnType<typeof calcPrice>>['model']['prices']

function nextChange(prices: Prices, asOf: string): { changesOn?: string } {
  if (!Array.isArray(prices)) return {}
  const days = prices.flatMap(({ constraint }) => (constraint?.type === 'start_date' ? [constraint.start_date] : []))
  const changesOn = days.filter((day) => day > asOf).sort()[0]
  return changesOn === undefined ? {} : { changesOn }
}

function toRates(price: ModelPrice, type: 'chat' | 'embeddings'): VendorRates | null {
  const unknown = Object.keys(price).some((key) => !BILLED.includes(key) && !BESIDE_TEXT.test(key))
  const {
    input_mtok: input,
    output_mtok: output = type === 'embeddings' ? 0 : undefined,
    cache_read_mtok: cached,
    cache_write_mtok: written,
    cache_write_1h_mtok: writtenForAnHour,
    input_audio_mtok: sound,
    cache_audio_read_mtok: cachedSound,
    output_audio_mtok: spoken,
  } = price
  if (unknown || input === undefined || output === undefined) return null
  const steps = new Set(
    [input, output, cached, written, writtenForAnHour, sound, cachedSound, spoken].flatMap((rate) =>
      typeof rate === 'object' ? startsOf(rate) : [],
    ),
  )
  const [aboveTokens, ...more] = steps
  if (more.length > 0) return null
  const at = (index: 0 | 1) => ({
    inputUsdPerMillion: rateAt(input, index),
    outputUsdPerMillion: rateAt(output, index),
    ...(cached === undefined ? {} : { cachedInputUsdPerMillion: rateAt(cached, index) }),
    ...(written === undefined ? {} : { cacheWriteUsdPerMillion: rateAt(written, index) }),
    ...(writtenForAnHour === undefined ? {} : { cacheWriteHourUsdPerMillion: rateAt(writtenForAnHour, index) }),
    ...(sound === undefined ? {} : { audioInputUsdPerMillion: rateAt(sound, index) }),
    ...(cachedSound === undefined ? {} : { cachedAudioInputUsdPerMillion: rateAt(cachedSound, index) }),
    ...(spoken === undefined ? {} : { audioOutputUsdPerMillion: rateAt(spoken, index) }),
  })
  return { ...at(0), ...(aboveTokens === undefined ? {} : { longPrompt: { aboveTokens, ...at(1) } }) }
}

type Rate = NonNullable<ModelPrice[string]>

function startsOf(rate: Exclude<Rate, number>): number[] {
  return rate.tiers.map(({ start }) => start)
}

/** 0: the usual rate; 1: that of long prompts, which some rates do not have. */
function rateAt(rate: Rate, index: 0 | 1): number {
  if (typeof rate === 'number') return rate
  return index === 0 ? rate.base : (rate.tiers[0]?.price ?? rate.base)
}

const BILLED = [
  ...['input_mtok', 'output_mtok', 'cache_read_mtok', 'cache_write_mtok', 'cache_write_1h_mtok'],
  ...['input_audio_mtok', 'cache_audio_read_mtok', 'output_audio_mtok', ...Object.keys(TOOLS)],
]
/** Other media: no backend reports their tokens apart. */
const BESIDE_TEXT = /^cache_write_|_(?:image|video|document)_/
