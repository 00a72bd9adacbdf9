/**
 * Columns of export files, each with its type in Parquet and its text in JSON.
 */

import type { SchemaElement } from 'hyparquet-writer'
import type { Entry } from './entries.ts'

/** `decimal`: in billionths, so that a nano-dollar is exact. */
export type ColumnType = 'text' | 'uuid' | 'integer' | 'decimal' | 'boolean' | 'time' | 'date' | 'json'

export type Value = string | number | bigint | boolean | object | null

export interface Column {
  name: string
  type: ColumnType
  of(entry: Entry): Value
}

export const DECIMALS = 9
const PRECISION = 18

const PARQUET: Record<ColumnType, Omit<SchemaElement, 'name'>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  uuid: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } },
  integer: { type: 'INT64' },
  decimal: { type: 'INT64', converted_type: 'DECIMAL', scale: DECIMALS, precision: PRECISION },
  boolean: { type: 'BOOLEAN' },
  time: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } },
  date: { type: 'INT32', converted_type: 'DATE' },
  json: { type: 'BYTE_ARRAY', converted_type: 'JSON' },
}

export function parquetSchema(columns: readonly Column[]): SchemaElement[] {
  const leaves = columns.map(({ name, type }): SchemaElement => {
    return { name, repetition_type: 'OPTIONAL', ...PARQUET[type] }
  })
  return [{ name: 'root', num_children: leaves.length }, ...leaves]
}

/** The value as the writer of Parquet takes it. */
export function parquetValue({ type }: Column, value: Value): unknown {
  if (value === null) return null
  if (type === 'integer') return BigInt(value as number)
  if (type === 'time' || type === 'date') return new Date(value as string)
  return value
}

export function jsonLine(columns: readonly Column[], entry: Entry): string {
  const members = columns.map((column) => `${JSON.stringify(column.name)}:${jsonText(column, column.of(entry))}`)
  return `{${members.join(',')}}\n`
}

function jsonText({ type }: Column, value: Value): string {
  if (value !== null && type === 'decimal') return decimalText(value as bigint)
  return JSON.stringify(value)
}

/** `1500000n` is `0.001500000`: exact, without an exponent. */
export function decimalText(billionths: bigint): string {
  const digits = (billionths < 0n ? -billionths : billionths).toString().padStart(DECIMALS + 1, '0')
  const sign = billionths < 0n ? '-' : ''
  const fraction = digits.slice(-DECIMALS)
  const units = `${sign}${digits.slice(0, -DECIMALS)}`
  return /^0+$/.test(fraction) ? units : `${units}.${fraction}`
}

/** PostgreSQL's text of a time, in milliseconds of UTC. */
export function isoTime(text: string): string {
  return new Date(text).toISOString()
}
