/**
 * Where an export's files go. A write leaves the whole file or nothing under its name, and replaces a former one.
 */

import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ExportConfig } from '@gateway/contracts/exports'
import { failpoint } from '@gateway/service/failpoint'

export interface Destination {
  /** `name`: with slashes. */
  write(name: string, bytes: Uint8Array): Promise<void>
}

const ENDINGS = { parquet: 'parquet', ndjson: 'ndjson.gz', cloudevents: 'ndjson' }
const PART_DIGITS = 8

/** DuckDB, Spark and Athena read the day from the folder's name. */
export function fileName({ format }: Pick<ExportConfig, 'format'>, part: { day: string; number: number }): string {
  return `day=${part.day}/part-${String(part.number).padStart(PART_DIGITS, '0')}.${ENDINGS[format]}`
}

export function openFolder(to: string): Destination {
  const root = fileURLToPath(to)
  return {
    async write(name, bytes) {
      const path = join(root, name)
      const folder = dirname(path)
      await mkdir(folder, { recursive: true })
      const prefix = `.${path.slice(folder.length + 1)}.`
      await removeLeftovers(folder, prefix)
      const temporary = join(folder, `${prefix}${randomBytes(6).toString('hex')}`)
      await writeSynced(temporary, bytes)
      failpoint('metering.export-file-synced')
      await rename(temporary, path)
      await syncFolder(folder)
    },
  }
}

/** Of a process that was killed while it wrote this very file. */
async function removeLeftovers(folder: string, prefix: string): Promise<void> {
  const names = await readdir(folder)
  for (const name of names.filter((each) => each.startsWith(prefix))) await rm(join(folder, name), { force: true })
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, 'wx')
  await file.writeFile(bytes)
  await file.sync()
}

/** The renaming itself survives a loss of power. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r')
  await folder.sync()
}
