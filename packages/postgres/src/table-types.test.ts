/**
 * The types of the services' tables are written from the schema that the migrations make, so the two never drift apart.
 * `npm test -- packages/postgres/src/table-types.test.ts -u` writes them again.
 */

import { migrate } from './migrate.ts'
import { openDatabase, type Database } from './database.ts'
import { createTestDatabase } from '@gateway/servers/start'
import type { ColumnMetadata } from 'kysely'
import { expect, test } from 'vitest'

test.each([
  { schema: 'keys', name: 'Keys' },
  { schema: 'metering', name: 'Metering' },
])('the types of the tables of $schema are those of its migrations', async ({ schema, name }) => {
  const db = `${import.meta.dirname}/../../../services/${schema}/src/db`
  await using server = await createTestDatabase()
  await migrate(server.url, { schema, directory: `${db}/migrations` })
  await using database = await openDatabase(server.url)
  await expect(await writeTypes(database, schema, name)).toMatchFileSnapshot(`${db}/tables.ts`)
})

async function writeTypes(database: Database, schema: string, name: string): Promise<string> {
  const isOwn = (table: { schema?: string | undefined; name: string }) =>
    table.schema === schema && table.name !== 'migrations' && !table.name.startsWith('ledger_')
  const tables = (await database.introspection.getTables()).filter(isOwn)
  const choices = await readChoices(database, schema)
  const bodies = tables.map((table) => {
    const columns = table.columns.map((column) => {
      const type = typeOf(column, choices.get(`${table.name}.${column.name}`))
      return `    ${column.name}: ${type}\n`
    })
    return `  '${schema}.${table.name}': {\n${columns.join('')}  }\n`
  })
  const imports = ['ColumnType', 'GeneratedAlways', 'Generated', 'Kysely']
    .filter((type) => type === 'Kysely' || new RegExp(`\\b${type}<`).test(bodies.join('')))
    .toSorted()
  return `/**
 * The tables of this service, written from its migrations by \`packages/postgres/src/table-types.test.ts\`.
 */

import type { ${imports.join(', ')} } from 'kysely'

export type ${name}Database = Kysely<${name}Tables>

export interface ${name}Tables {
${bodies.join('')}}
`
}

/** The type that a read returns, and the wider type that a write accepts. */
const TYPES: Record<string, [read: string, written?: string]> = {
  bool: ['boolean'],
  bytea: ['Buffer', 'Uint8Array'],
  date: ['Date'],
  int2: ['number'],
  int4: ['number'],
  int8: ['number'],
  jsonb: ['unknown', 'string'],
  numeric: ['string'],
  text: ['string'],
  timestamptz: ['Date'],
  _text: ['string[]'],
  _timestamptz: ['Date[]'],
  _uuid: ['string[]'],
  uuid: ['string'],
}

function typeOf(column: ColumnMetadata, choices: string | undefined): string {
  const known = TYPES[column.dataType]
  if (!known) throw new Error(`the type ${column.dataType} of ${column.name} has no type here yet`)
  const orNull = (type: string) => (column.isNullable && type !== 'unknown' ? `${type} | null` : type)
  const [read, written] = known
  if (column.isAutoIncrementing) return `GeneratedAlways<${read}>`
  const mayBeLeftOut = column.hasDefaultValue || (column.isNullable && written)
  if (written) {
    const insert = mayBeLeftOut ? `${orNull(written)} | undefined` : orNull(written)
    return `ColumnType<${orNull(read)}, ${insert}, ${orNull(written)}>`
  }
  const type = orNull(choices ?? read)
  return column.hasDefaultValue ? `Generated<${type}>` : type
}

/** The values that a check allows, by table and column: `kind in ('developer', 'guest')`. */
async function readChoices(database: Database, schema: string): Promise<Map<string, string>> {
  const { rows } = await database.query<{ table: string; definition: string }>(
    `select relname as table, pg_get_constraintdef(check_.oid) as definition
     from pg_constraint check_ join pg_class on pg_class.oid = conrelid
     where check_.connamespace = $1::regnamespace and contype = 'c'`,
    [schema],
  )
  return new Map(
    rows.flatMap(({ table, definition }) => {
      const [, column, values] = /^CHECK \(\((\w+) = ANY \(ARRAY\[(.*)\]\)\)\)$/.exec(definition) ?? []
      return values ? [[`${table}.${column}`, values.replaceAll('::text', '').replaceAll(', ', ' | ')]] : []
    }),
  )
}
