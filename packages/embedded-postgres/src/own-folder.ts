/**
 * One process at a time owns a folder. The owner's note in it counts for as long as that very process lives, so that
 * `kill -9` leaves nothing behind that would have to be removed by hand.
 */

import { link, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startTimeOf } from './processes.ts'

/** Takes the folder, or throws when another living process holds it. */
export async function ownFolder(directory: string): Promise<AsyncDisposable> {
  const note = join(directory, 'owner')
  const draft = `${note}.${process.pid}`
  const mine = `${process.pid} ${await startTimeOf(process.pid)}\n`
  await writeFile(draft, mine)
  try {
    while (!(await tryLink(draft, note))) await removeIfStale(note, `${draft}.stale`, directory)
  } finally {
    await rm(draft, { force: true })
  }
  return {
    [Symbol.asyncDispose]: async () => {
      if ((await read(note)) === mine) await rm(note, { force: true })
    },
  }
}

async function removeIfStale(note: string, aside: string, directory: string): Promise<void> {
  const seen = await read(note)
  if (seen === null) return
  if (await isAlive(seen)) throw inUse(directory, seen)
  await rename(note, aside).catch(() => {})
  const moved = await read(aside)
  // Somebody else removed the stale note and wrote a new one before our rename: give it back.
  if (moved !== null && moved !== seen) {
    await tryLink(aside, note)
    await unlink(aside)
    throw inUse(directory, moved)
  }
  await rm(aside, { force: true })
}

async function isAlive(content: string): Promise<boolean> {
  const [pid, ...startTime] = content.trim().split(' ')
  return (await startTimeOf(Number(pid))) === startTime.join(' ')
}

function inUse(directory: string, content: string): Error {
  return new Error(
    `${directory} is in use by process ${content.split(' ')[0]}: stop that first, or choose another folder`,
  )
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function read(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null)
}
