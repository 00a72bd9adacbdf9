/**
 * Everything that a gateway leaves behind, piece by piece, for tests that search it: tables, Redis, files.
 */

import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Redis } from 'ioredis'
import { openDatabase } from '@gateway/postgres/database'

export interface Leftover {
  /** For a person: which table, key or file. */
  place: string
  content: Buffer
}

/** Every table of the services' schemas, its rows as JSON with all columns; bytes are hexadecimal. */
export async function* readDatabase(url: string): AsyncGenerator<Leftover> {
  await using database = await openDatabase(url)
  const { rows: tables } = await database.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
  )
  for (const { name } of tables) {
    const { rows } = await database.query<{ row: string }>(
      `select row_to_json(each_row)::text as row from ${name} each_row`,
    )
    yield { place: `the table ${name}`, content: Buffer.from(rows.map(({ row }) => row).join('\n')) }
  }
}

type Nested = Buffer | Nested[]

const READ: Record<string, (key: string) => [command: string, ...args: string[]]> = {
  string: (key) => ['GET', key],
  hash: (key) => ['HGETALL', key],
  zset: (key) => ['ZRANGE', key, '0', '-1'],
  set: (key) => ['SMEMBERS', key],
  list: (key) => ['LRANGE', key, '0', '-1'],
}

/** Every key with its values. */
export async function* readRedis(url: string): AsyncGenerator<Leftover> {
  const redis = new Redis(url)
  try {
    for (const key of await redis.keys('*')) {
      const type = await redis.type(key)
      // Deleted since the list of keys: a running gateway still finishes its accounts' requests.
      if (type === 'none') continue
      const read = READ[type]
      if (!read) throw new Error(`nobody knows how to read the ${type} ${key}`)
      const [command, ...args] = read(key)
      const values = [(await redis.callBuffer(command, ...args)) as Nested].flat(Infinity as 1) as Buffer[]
      yield { place: `the Redis key ${key}`, content: Buffer.concat([Buffer.from(`${key} `), ...values]) }
    }
  } finally {
    redis.disconnect()
  }
}

/** Every file below a folder: logs, and the files of servers. */
export async function* readFolder(folder: string): AsyncGenerator<Leftover> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    yield { place: relative(folder, path), content: await readFile(path) }
  }
}
