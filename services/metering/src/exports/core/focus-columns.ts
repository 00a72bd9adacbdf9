/**
 * FOCUS 1.2 (focus.finops.org, tag v1.2 of its specification, read 2026-11-29): a row is the usage of one request. It has all
 * mandatory columns, and the others that a gateway can fill; the gateway's own begin with `x_`.
 *
 * Money is that of pay-as-you-go plans. An allowance is a virtual currency, `Tokens`: such rows bill nothing. Tokens of one request have
 * several prices, so the unit of pricing is the request. Its list unit price is the charge by the price list. `x_Price` has all prices.
 * The gateway negotiates no prices, so there are no contracted unit prices.
 */

import { type Column, isoTime } from './columns.ts'
import type { Entry, LedgerRow } from './entries.ts'

const GATEWAY = 'Model Gateway'
const BILLIONTHS = 1_000_000_000n
const BILLIONTHS_PER_MILLI = 1_000_000n

const text = (name: string, of: (entry: Entry) => string | null): Column => ({ name, type: 'text', of })
const decimal = (name: string, of: (entry: Entry) => bigint): Column => ({ name, type: 'decimal', of })
const time = (name: string, of: (entry: Entry) => string): Column => ({ name, type: 'time', of })
const integer = (name: string, of: (entry: Entry) => number): Column => ({ name, type: 'integer', of })

const isMoney = ({ unit }: LedgerRow) => unit === 'usd'
/** A charge in dollars is in nano-dollars. */
const cost = ({ row, sign }: Pick<Entry, 'row' | 'sign'>) => (isMoney(row) ? BigInt(sign * row.charge) : 0n)

function ownCurrencyCost({ row, sign }: Pick<Entry, 'row' | 'sign'>): bigint {
  return BigInt(sign * row.charge) * (isMoney(row) ? 1n : BILLIONTHS_PER_MILLI)
}

/** Of one request; never negative. */
const unitPrice = ({ row }: Entry) => cost({ row, sign: 1 })
const ownCurrencyUnitPrice = ({ row }: Entry) => ownCurrencyCost({ row, sign: 1 })

function consumed({ row, sign }: Entry): bigint {
  const units = row.kind === 'images' ? (row.images ?? 0) : row.prompt_tokens + row.completion_tokens
  return BigInt(sign * units) * BILLIONTHS
}

const monthStart = (window: string) => `${window}-01T00:00:00.000Z`

function monthEnd(window: string): string {
  return new Date(Date.UTC(Number(window.slice(0, 4)), Number(window.slice(5, 7)), 1)).toISOString()
}

/** The end is exclusive, and a request may end in the millisecond that it began in. */
function periodEnd({ row }: Entry): string {
  return new Date(Math.max(Date.parse(row.ended_at), Date.parse(row.started_at)) + 1).toISOString()
}

/** Its month was invoiced before. */
function chargeClass({ kind, row, fileDay }: Entry): string | null {
  return kind !== 'original' && row.window < fileDay.slice(0, 7) ? 'Correction' : null
}

export const focusColumns: readonly Column[] = [
  decimal('BilledCost', cost),
  text('BillingAccountId', ({ row }) => row.account),
  text('BillingAccountName', () => null),
  text('BillingCurrency', () => 'USD'),
  time('BillingPeriodEnd', ({ row }) => monthEnd(row.window)),
  time('BillingPeriodStart', ({ row }) => monthStart(row.window)),
  text('ChargeCategory', () => 'Usage'),
  text('ChargeClass', chargeClass),
  text('ChargeDescription', ({ row }) => `${row.model_asked}, served by ${row.lane}`),
  text('ChargeFrequency', () => 'Usage-Based'),
  time('ChargePeriodEnd', periodEnd),
  time('ChargePeriodStart', ({ row }) => isoTime(row.started_at)),
  decimal('ConsumedQuantity', consumed),
  text('ConsumedUnit', ({ row }) => (row.kind === 'images' ? 'Images' : 'Tokens')),
  decimal('ContractedCost', cost),
  decimal('EffectiveCost', cost),
  text('InvoiceIssuerName', () => GATEWAY),
  decimal('ListCost', cost),
  decimal('ListUnitPrice', unitPrice),
  text('PricingCategory', () => 'Standard'),
  text('PricingCurrency', ({ row }) => (isMoney(row) ? 'USD' : 'Tokens')),
  decimal('PricingCurrencyEffectiveCost', ownCurrencyCost),
  decimal('PricingCurrencyListUnitPrice', ownCurrencyUnitPrice),
  decimal('PricingQuantity', ({ sign }) => BigInt(sign) * BILLIONTHS),
  text('PricingUnit', () => 'Requests'),
  text('ProviderName', () => GATEWAY),
  text('PublisherName', () => GATEWAY),
  text('ServiceCategory', () => 'AI and Machine Learning'),
  text('ServiceName', () => GATEWAY),
  text('ServiceSubcategory', () => 'Generative AI'),
  text('SkuId', ({ row }) => row.model_asked),
  text('SkuMeter', ({ row }) => row.kind ?? 'chat'),
  text('SkuPriceId', ({ row }) => row.model_asked),
  text('SubAccountId', ({ row }) => row.key_id),
  text('SubAccountName', () => null),
  text('SubAccountType', () => 'API key'),
  { name: 'Tags', type: 'json', of: ({ row }) => row.tags ?? {} },
  { name: 'x_RequestId', type: 'uuid', of: ({ row }) => row.request_id },
  text('x_Entry', ({ kind }) => kind),
  { name: 'x_Day', type: 'date', of: ({ day }) => day },
  { name: 'x_Late', type: 'boolean', of: ({ isLate }) => isLate },
  text('x_Plan', ({ row }) => row.plan),
  text('x_UserId', ({ row }) => row.user_id ?? null),
  text('x_Lane', ({ row }) => row.lane),
  text('x_Backend', ({ row }) => row.backend),
  text('x_BackendModel', ({ row }) => row.backend_model),
  integer('x_PromptTokens', ({ row, sign }) => sign * row.prompt_tokens),
  integer('x_CompletionTokens', ({ row, sign }) => sign * row.completion_tokens),
  integer('x_CachedTokens', ({ row, sign }) => sign * row.cached_tokens),
  { name: 'x_Price', type: 'json', of: ({ row }) => row.price as object },
]
