/**
 * The folder for data on disk: made where it is not there, and proven to take files before anything else is begun. An operator
 * can put it right, so a failure is told in a sentence without a stack.
 */

import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UsageError } from './report-fatal.ts'

export async function openDataFolder(dataDir: string): Promise<void> {
  await inDataFolder(dataDir, makeFolder(dataDir))
  await inDataFolder(dataDir, writeSomething(dataDir))
}

/** Work that reads and writes there. */
export async function inDataFolder<Result>(dataDir: string, work: Promise<Result>): Promise<Result> {
  return work.catch((error: Error) => {
    throw new UsageError(`The data folder ${dataDir} (DATA_DIR) cannot be used: ${error.message}`)
  })
}

/** Node's own `recursive` asks for ever where a parent is there and yet takes no folder, as in /proc. */
async function makeFolder(path: string): Promise<void> {
  try {
    await makeIn(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    await makeFolder(dirname(path))
    await makeIn(path)
  }
}

async function makeIn(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error
  }
}

async function writeSomething(folder: string): Promise<void> {
  const path = join(folder, `.written-${process.pid}`)
  await writeFile(path, 'x')
  await rm(path)
}
