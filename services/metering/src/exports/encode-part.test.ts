import { gunzipSync } from 'node:zlib'
import { exportsSection } from '@gateway/contracts/exports'
import fc from 'fast-check'
import { parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet'
import { describe, expect, test } from 'vitest'
import { ledgerRow } from '../../test/ledger-row.ts'
import { decimalText } from './core/columns.ts'
import { correctingEntries, dayOf, type Entry, originalEntry } from './core/entries.ts'
import { encodePart } from './encode-part.ts'

const configOf = (given: object) => exportsSection.parse([{ to: 'file:///exports', format: 'parquet', ...given }])[0]!
const FILE = { day: '2025-01-10', closedThrough: '2025-01-09' }

async function* pagesOf(...pages: Entry[][]): AsyncGenerator<Entry[]> {
  yield* pages
}

const encode = async (config: object, ...pages: Entry[][]) =>
  (await encodePart(configOf(config), pagesOf(...pages))).bytes
const readParquet = (bytes: Uint8Array) => parquetReadObjects({ file: Uint8Array.from(bytes).buffer, utf8: true })
const readJson = (bytes: Uint8Array) =>
  gunzipSync(bytes)
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** Most charges are small; the largest are those that a JavaScript number holds exactly. */
const charge = fc.oneof(fc.integer({ min: 0, max: 100_000_000 }), fc.maxSafeInteger().map(Math.abs))

describe('Parquet, read by another library', () => {
  test('has the charges of the ledger to the last nano-dollar, in its own columns and as decimals of FOCUS', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(charge, { minLength: 1, maxLength: 40 }), async (charges) => {
        const entries = charges.map((each) => originalEntry(ledgerRow({ charge: each }), FILE))
        const half = Math.floor(entries.length / 2)
        const pages = [entries.slice(0, half), entries.slice(half)].filter((page) => page.length > 0)
        const ledger = await readParquet(await encode({}, ...pages))
        expect(ledger.map((row) => row['charge'])).toEqual(charges.map(BigInt))
        const focus = await encode({ columns: 'focus' }, ...pages)
        expect((await readUnscaled(focus)).map((row) => row['BilledCost'])).toEqual(charges.map(BigInt))
        const json = gunzipSync(await encode({ columns: 'focus', format: 'ndjson' }, ...pages)).toString()
        const costs = [...json.matchAll(/"BilledCost":(-?[\d.]+)/g)].map(([, text]) => billionthsOf(text!))
        expect(costs).toEqual(charges.map(BigInt))
      }),
    )
  })

  test('reads back as the row was, with the types of its columns', async () => {
    const entry = originalEntry(ledgerRow({ tool_calls: { web_search: 2 } }), FILE)
    const [row] = await readParquet(await encode({}, [entry]))
    expect(row).toMatchObject({
      request_id: '0194505c-8a00-7000-8000-000000000001',
      entry: 'original',
      day: new Date('2025-01-10'),
      late: false,
      account: 'acct0001',
      is_project: false,
      user_id: null,
      tags: { team: 'search "ß"' },
      prompt_tokens: 90n,
      tool_calls: { web_search: 2 },
      vendor_cost_nano_usd: null,
      price: { kind: 'multiplier', milliTokensPerToken: 1500 },
      reporter: 'edge',
      delivered: true,
      attempts: [{ backend: 'gpu-a', outcome: 'served' }],
      started_at: new Date('2025-01-10T12:00:00.123Z'),
    })
  })

  test('has each page of rows, and the same bytes each time', async () => {
    const page = (from: number) =>
      Array.from({ length: 3 }, (_, index) => originalEntry(ledgerRow({ charge: from + index }), FILE))
    const first = await encode({}, page(0), page(3))
    expect((await readParquet(first)).map((row) => row['charge'])).toEqual([0n, 1n, 2n, 3n, 4n, 5n])
    expect(Buffer.from(first).equals(Buffer.from(await encode({}, page(0), page(3))))).toBe(true)
  })
})

/** The library makes floating-point numbers of decimals. Without the type it returns the integers that the file has. */
function readUnscaled(bytes: Uint8Array) {
  const file = Uint8Array.from(bytes).buffer
  const metadata = parquetMetadata(file)
  for (const element of metadata.schema) {
    if (element.converted_type !== 'DECIMAL') continue
    expect([element.precision, element.scale]).toEqual([18, 9])
    delete element.converted_type
    delete element.logical_type
  }
  return parquetReadObjects({ file, metadata })
}

function billionthsOf(text: string): bigint {
  const [units, fraction = ''] = text.split('.')
  return BigInt(`${units}${fraction.padEnd(9, '0')}`)
}

test('a number of billionths is written with all its digits and without an exponent', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (number) => {
      const text = decimalText(BigInt(number))
      expect(text).toMatch(/^-?\d+(\.\d{1,9})?$/)
      expect(billionthsOf(text)).toBe(BigInt(number))
    }),
  )
  expect(decimalText(-1n)).toBe('-0.000000001')
})

test('a reversal and its correction add up to the difference, in each number of the ledger and of FOCUS', async () => {
  const change = { id: 7, former: ledgerRow({ charge: 300 }), latter: ledgerRow({ charge: 500, prompt_tokens: 100 }) }
  const pair = correctingEntries(change, FILE)
  const sumOf = async (config: object, name: string) =>
    readJson(await encode({ format: 'ndjson', ...config }, pair)).reduce((sum, row) => sum + Number(row[name]), 0)
  expect(await sumOf({}, 'charge')).toBe(200)
  expect(await sumOf({}, 'prompt_tokens')).toBe(10)
  expect(await sumOf({ columns: 'focus' }, 'ConsumedQuantity')).toBe(10)
  expect(await sumOf({ columns: 'focus' }, 'BilledCost')).toBeCloseTo(2e-7, 12)
  expect(await sumOf({ columns: 'focus' }, 'PricingQuantity')).toBe(0)
})

/**
 * Columns of FOCUS 1.2 by its specification: the type, and whether null is allowed. All mandatory ones, those that publish unit prices
 * require, and others that we fill.
 */
const MANDATORY = {
  BilledCost: ['Decimal', false],
  BillingAccountId: ['String', false],
  BillingAccountName: ['String', true],
  BillingCurrency: ['String', false],
  BillingPeriodEnd: ['Date/Time', false],
  BillingPeriodStart: ['Date/Time', false],
  ChargeCategory: ['String', false],
  ChargeClass: ['String', true],
  ChargeDescription: ['String', true],
  ChargePeriodEnd: ['Date/Time', false],
  ChargePeriodStart: ['Date/Time', false],
  ContractedCost: ['Decimal', false],
  EffectiveCost: ['Decimal', false],
  InvoiceIssuerName: ['String', false],
  ListCost: ['Decimal', false],
  PricingQuantity: ['Decimal', true],
  PricingUnit: ['String', true],
  ProviderName: ['String', false],
  PublisherName: ['String', false],
  ServiceCategory: ['String', false],
  ServiceName: ['String', false],
} as const
const OTHERS = {
  ChargeFrequency: ['String', false],
  ConsumedQuantity: ['Decimal', true],
  ConsumedUnit: ['String', true],
  ListUnitPrice: ['Decimal', true],
  PricingCategory: ['String', true],
  PricingCurrency: ['String', false],
  PricingCurrencyEffectiveCost: ['Decimal', false],
  PricingCurrencyListUnitPrice: ['Decimal', true],
  ServiceSubcategory: ['String', false],
  SkuId: ['String', true],
  SkuMeter: ['String', true],
  SkuPriceId: ['String', true],
  SubAccountId: ['String', true],
  SubAccountName: ['String', true],
  SubAccountType: ['String', true],
  Tags: ['JSON', true],
} as const

describe('FOCUS 1.2', () => {
  const entries = [
    originalEntry(ledgerRow(), FILE),
    originalEntry(ledgerRow({ unit: 'tokens', charge: 150_000, kind: 'images', images: 2, tags: null }), FILE),
    ...correctingEntries(
      { id: 1, former: ledgerRow({ window: '2024-12', started_at: '2024-12-31T12:00:00Z' }), latter: ledgerRow() },
      FILE,
    ),
  ]

  test('the files have every mandatory column, by its name and type, and no others but those of FOCUS and `x_`', async () => {
    const bytes = await encode({ columns: 'focus' }, entries)
    const { children } = parquetSchema(parquetMetadata(Uint8Array.from(bytes).buffer))
    const types = Object.fromEntries(
      children.map(({ element }) => {
        const { name, converted_type: converted, logical_type: logical } = element
        const isTime = logical?.type === 'TIMESTAMP' && logical.isAdjustedToUTC
        const named = { DECIMAL: 'Decimal', UTF8: 'String', JSON: 'JSON' }[converted as string]
        return [name, isTime ? 'Date/Time' : named]
      }),
    )
    for (const [name, [type]] of Object.entries({ ...MANDATORY, ...OTHERS }))
      expect([name, types[name]]).toEqual([name, type])
    const known = new Set(Object.keys({ ...MANDATORY, ...OTHERS }))
    expect(Object.keys(types).filter((name) => !known.has(name) && !name.startsWith('x_'))).toEqual([])
  })

  test('no column is null that must not be, and values are those that the specification allows', async () => {
    const rows = readJson(await encode({ columns: 'focus', format: 'ndjson' }, entries))
    for (const row of rows) {
      for (const [name, [type, mayBeNull]] of Object.entries({ ...MANDATORY, ...OTHERS })) {
        const value = row[name]
        if (value === null) expect([name, mayBeNull]).toEqual([name, true])
        else if (type === 'Decimal') expect([name, typeof value]).toEqual([name, 'number'])
        else if (type === 'Date/Time') expect(value).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
        else expect([name, typeof value]).toEqual([name, type === 'JSON' ? 'object' : 'string'])
      }
      expect(row).toMatchObject({
        ChargeCategory: 'Usage',
        ChargeFrequency: 'Usage-Based',
        PricingCategory: 'Standard',
        ServiceCategory: 'AI and Machine Learning',
        ServiceSubcategory: 'Generative AI',
        BillingCurrency: 'USD',
      })
      expect(row['ListUnitPrice']).toBeGreaterThanOrEqual(0)
      expect(Number(row['ListUnitPrice']) * Number(row['PricingQuantity'])).toBe(row['ListCost'])
      expect(Number(row['PricingCurrencyListUnitPrice']) * Number(row['PricingQuantity'])).toBe(
        row['PricingCurrencyEffectiveCost'],
      )
      expect(Date.parse(row['ChargePeriodEnd'] as string)).toBeGreaterThan(
        Date.parse(row['ChargePeriodStart'] as string),
      )
    }
    expect(rows[0]).toMatchObject({
      BilledCost: 1e-9,
      ConsumedQuantity: 100,
      ConsumedUnit: 'Tokens',
      BillingPeriodStart: '2025-01-01T00:00:00.000Z',
      BillingPeriodEnd: '2025-02-01T00:00:00.000Z',
      ChargeClass: null,
      Tags: { team: 'search "ß"' },
    })
    expect(rows[1]).toMatchObject({
      BilledCost: 0,
      PricingCurrency: 'Tokens',
      PricingCurrencyEffectiveCost: 150,
      ConsumedQuantity: 2,
      ConsumedUnit: 'Images',
    })
    expect(rows.slice(2).map((row) => row['ChargeClass'])).toEqual(['Correction', null])
  })
})

test('CloudEvents have an id of their own each, and the attributes that every receiver requires', async () => {
  const row = ledgerRow()
  const pair = correctingEntries({ id: 7, former: row, latter: row }, FILE)
  const events = readJson(
    await encode({ columns: 'cloudevents', format: 'ndjson' }, [originalEntry(row, FILE), ...pair]),
  )
  expect(new Set(events.map(({ id }) => id)).size).toBe(3)
  for (const event of events) {
    expect(event).toMatchObject({ specversion: '1.0', source: 'urn:model-gateway', subject: 'acct0001' })
    expect(event['type']).toBe('model-gateway.request')
    expect(event['time']).toBe('2025-01-10T12:00:01.000Z')
  }
  expect(events[0]!['data']).toMatchObject({ charge: 1, model_asked: 'svc-fast', entry: 'original' })
})

test.each([
  ['2025-01-10T00:00:00Z', '2025-01', '2025-01-10'],
  ['2025-01-31T23:59:59.999Z', '2025-02', '2025-02-01'],
  ['2025-02-01T00:00:00Z', '2025-01', '2025-01-31'],
  ['2024-03-01T00:00:00Z', '2024-02', '2024-02-29'],
])('a request of %s in the month %s counts on %s', (time, window, day) => {
  expect(dayOf({ started_at: time, window })).toBe(day)
})
