/**
 * Queries all processes over the bus: one question, and one reply of each process.
 *
 * Nobody knows the number of processes, so a process learns of others from their replies to anybody. The first question in a while waits
 * a moment for processes that nobody knows. A later one ends when every known process has replied. A process that does not reply in time
 * is no longer known.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** Of processes that nobody knows, and of known ones. */
const REPLY_WITHIN_MS = { unknown: 250, known: 1_000 }
const KNOWN_FOR_MS = 60_000

export interface Described<Question, View> {
  publish(question: Question & { question: string }): void
  /** To the replies that each process gives to anybody. */
  subscribe(onReply: (reply: { question: string; view: View }) => void): Promise<AsyncDisposable>
  nameOf(view: View): string
  /** The name of this process, which replies to itself. */
  self: string
  /** The other processes, where they announce themselves: no question waits for unknown ones then. */
  others?(): Iterable<string>
  replyWithinMs?: typeof REPLY_WITHIN_MS
}

export interface QueryAll<Question, View> extends AsyncDisposable {
  /** `known`: the processes that replied, and those that were expected to. */
  query(question: Question): Promise<{ views: View[]; known: number }>
}

export async function openQueryAll<Question, View>({
  publish,
  subscribe,
  nameOf,
  self,
  others,
  replyWithinMs = REPLY_WITHIN_MS,
}: Described<Question, View>): Promise<QueryAll<Question, View>> {
  const seenAtMs = new Map<string, number>()
  const open = new Map<string, (name: string, view: View) => void>()
  let queriedAtMs = -Infinity
  const subscription = await subscribe(({ question, view }) => {
    const name = nameOf(view)
    if (!others) seenAtMs.set(name, performance.now())
    open.get(question)?.(name, view)
  })

  function learnt(nowMs: number): Iterable<string> {
    for (const [name, atMs] of seenAtMs) if (atMs < nowMs - KNOWN_FOR_MS) seenAtMs.delete(name)
    return seenAtMs.keys()
  }

  return {
    async query(question) {
      const id = randomUUID()
      const nowMs = performance.now()
      const views = new Map<string, View>()
      const expected = new Set([self, ...(others?.() ?? learnt(nowMs))])
      const missing = new Set(expected)
      const allReplied = Promise.withResolvers<void>()
      open.set(id, (name, view) => {
        views.set(name, view)
        missing.delete(name)
        if (missing.size === 0) allReplied.resolve()
      })
      const waitsForUnknown = !others && queriedAtMs < nowMs - KNOWN_FOR_MS
      queriedAtMs = nowMs
      publish({ ...question, question: id })
      await Promise.race([
        Promise.all([allReplied.promise, waitsForUnknown && sleep(replyWithinMs.unknown, undefined, { ref: false })]),
        sleep(replyWithinMs.known, undefined, { ref: false }),
      ])
      open.delete(id)
      for (const name of missing) seenAtMs.delete(name)
      return { views: [...views.values()], known: new Set([...expected, ...views.keys()]).size }
    },
    [Symbol.asyncDispose]: () => subscription[Symbol.asyncDispose](),
  }
}
