/**
 * The oracle: the clients' observations, appended to a file as they happen and never changed.
 */

import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import type { Seen } from './seen.ts'

export interface ClientLog extends AsyncDisposable {
  readonly all: readonly Seen[]
  sent(seen: Seen): void
  ended(seen: Seen): void
}

export function openClientLog(path: string): ClientLog {
  const file = createWriteStream(path, { flags: 'ax' })
  const all: Seen[] = []
  return {
    all,
    sent({ id, kind, owner, edge, key, sentAtMs }) {
      file.write(`${JSON.stringify({ sent: id, kind, owner, edge, key, sentAtMs })}\n`)
    },
    ended(seen) {
      all.push(Object.freeze(seen))
      file.write(`${JSON.stringify(seen)}\n`)
    },
    async [Symbol.asyncDispose]() {
      file.end()
      await once(file, 'close')
    },
  }
}
