/**
 * One process at a time owns a folder. The owner's note in it counts for as long as that very process lives. So `kill -9` leaves
 * nothing behind that a person would have to remove. A killed process may take a moment to end, longer on a busy machine, so an
 * owner that lives is given some time to go.
 */

import { link, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startTimeOf } from './processes.ts'

const OWNER_GOES_WITHIN_MS = 5_000
const POLL_MS = 50

/** Takes the folder, or throws when another living process goes on holding it. */
export async function ownFolder(directory: string): Promise<AsyncDisposable> {
  const note = join(directory, 'owner')
  const draft = `${note}.${process.pid}`
  const mine = `${process.pid} ${await startTimeOf(process.pid)}\n`
  await writeFile(draft, mine)
  try {
    const giveUpAtMs = performance.now() + OWNER_GOES_WITHIN_MS
    while (!(await tryLink(draft, note))) {
      const owner = await removeIfStale(note, `${draft}.stale`)
      if (owner === null) continue
      if (performance.now() > giveUpAtMs) throw inUse(directory, owner)
      await delay(POLL_MS)
    }
  } finally {
    await rm(draft, { force: true })
  }
  return {
    [Symbol.asyncDispose]: async () => {
      if ((await read(note)) === mine) await rm(note, { force: true })
    },
  }
}

/** Returns the note of an owner that lives. */
async function removeIfStale(note: string, aside: string): Promise<string | null> {
  const seen = await read(note)
  if (seen === null) return null
  if (await isAlive(seen)) return seen
  await rename(note, aside).catch(() => {})
  const moved = await read(aside)
  // Somebody else removed the stale note and wrote a new one before our rename: give it back.
  if (moved !== null && moved !== seen) {
    await tryLink(aside, note)
    await unlink(aside)
    return moved
  }
  await rm(aside, { force: true })
  return null
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
