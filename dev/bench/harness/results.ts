/**
 * The results on disk: one JSON file per part, written whole after every launch. A run that was stopped goes on where
 * it was.
 */

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type * as z from 'zod'
import { RESULTS } from './folders.ts'

export async function readResult<Schema extends z.ZodType>(
  part: string,
  schema: Schema,
): Promise<z.infer<Schema> | undefined> {
  const text = await readFile(pathOf(part), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const parsed = schema.safeParse(JSON.parse(text))
  // A result of another form than today's is measured again.
  return parsed.success ? parsed.data : undefined
}

export async function writeResult(part: string, result: unknown): Promise<void> {
  await mkdir(RESULTS, { recursive: true })
  const path = pathOf(part)
  await writeFile(`${path}.new`, `${JSON.stringify(result, roundNumbers, 1)}\n`)
  await rename(`${path}.new`, path)
}

function pathOf(part: string): string {
  return join(RESULTS, `${part}.json`)
}

/** Four significant digits more than anything here is exact to. */
function roundNumbers(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value
}
