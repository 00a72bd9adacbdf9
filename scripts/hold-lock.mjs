/**
 * One process at a time: runs `work` while a lock file is held.
 *
 * Plain JavaScript without dependencies, as its users are. The holder touches the lock every second; one that is not
 * touched any more belongs to nobody.
 */

import fs from 'node:fs'
import path from 'node:path'

const BEAT_MS = 1000
const STALE_MS = 10_000

/** `waiting` is called once, when another process holds it. */
export async function holdLock(lock, waiting, work) {
  fs.mkdirSync(path.dirname(lock), { recursive: true })
  for (let isWaiting = false; !take(lock); isWaiting = true) {
    if (!isWaiting) waiting()
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const beat = setInterval(() => fs.utimesSync(lock, new Date(), new Date()), BEAT_MS)
  try {
    await work()
  } finally {
    clearInterval(beat)
    fs.rmSync(lock, { force: true })
  }
}

function take(lock) {
  try {
    fs.closeSync(fs.openSync(lock, 'wx'))
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    const touched = fs.statSync(lock, { throwIfNoEntry: false })?.mtimeMs
    if (touched !== undefined && Date.now() - touched > STALE_MS) fs.rmSync(lock, { force: true })
    return false
  }
}
