/**
 * The wall clock of one server, which libfaketime can set wrong while the server runs. Timers keep the right pace.
 *
 * NATS keeps the right time: Go does not call libc, and a time namespace shifts monotonic clocks only.
 */

import { globSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from '@gateway/service/report-fatal'

export interface ServerClock {
  /** The words before the server's command. */
  readonly launcher: readonly string[]
  /** Resolves when the server goes by it. */
  set(wrongByMs: number): Promise<void>
}

const LOOK_EVERY_MS = 100
/** The library looks at its file once a second. */
const FOLLOWS_WITHIN_MS = 10_000
/** Redis' own, jemalloc, reads the time before the library can reply. */
const ALLOCATOR = 'libc_malloc_debug.so.0'
/** The question itself takes time. */
const TOLERANCE_MS = 2_000

/** `file`: where the clock's error lies. `readClockMs`: reads the server's clock. */
export async function openServerClock(file: string, readClockMs: () => Promise<number>): Promise<ServerClock> {
  const write = async (wrongByMs: number) => {
    await writeFile(`${file}.new`, `${wrongByMs < 0 ? '' : '+'}${wrongByMs / 1_000}\n`)
    await rename(`${file}.new`, file)
  }
  await write(0)
  return {
    launcher: [
      'env',
      `LD_PRELOAD=${ALLOCATOR}:${findLibrary()}`,
      `FAKETIME_TIMESTAMP_FILE=${file}`,
      'FAKETIME_CACHE_DURATION=1',
      'FAKETIME_DONT_FAKE_MONOTONIC=1',
    ],
    async set(wrongByMs) {
      await write(wrongByMs)
      const deadlineMs = Date.now() + FOLLOWS_WITHIN_MS
      while (Math.abs((await readClockMs()) - Date.now() - wrongByMs) > TOLERANCE_MS) {
        if (Date.now() > deadlineMs) throw new Error(`the clock of ${file} did not follow`)
        await sleep(LOOK_EVERY_MS)
      }
    },
  }
}

function findLibrary(): string {
  const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')
  if (!library) throw new UsageError('--replicated sets clocks wrong with libfaketime: apt-get install libfaketime')
  return library
}
