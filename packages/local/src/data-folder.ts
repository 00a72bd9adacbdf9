/**
 * The folder for data on disk. The start creates it where it is missing, and proves that it takes files before anything else begins.
 * An operator can mend a failure, so its error is a sentence without a stack.
 */

import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UsageError } from '@gateway/service/report-fatal'

export async function openDataFolder(dataDir: string): Promise<void> {
  await inDataFolder(dataDir, makeFolder(dataDir))
  await inDataFolder(dataDir, writeSomething(dataDir))
}

/** Wraps work that reads and writes in the folder: a failure names the folder. */
export async function inDataFolder<Result>(dataDir: string, work: Promise<Result>): Promise<Result> {
  return work.catch((error: Error) => {
    throw new UsageError(`The data folder ${dataDir} (DATA_DIR) cannot be used: ${error.message}`)
  })
}

/** Node's own `recursive` never returns where a parent exists and yet takes no folder, as in /proc. */
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
