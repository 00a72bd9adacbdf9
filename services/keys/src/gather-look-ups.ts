/**
 * Look-ups that anybody may cause, gathered: while one query runs, the questions that come in wait for the next one,
 * which asks for all of them. So a flood of made-up keys costs a few queries a second, and a live key waits for one query
 * at the most, whatever else is asked. Beyond a bound a question is refused at once.
 */

import type { Database } from '@gateway/postgres/database'
import { areKeysOf, findGuestDevices, type GuestDevice } from './db/keys.ts'

const AT_A_TIME = 1_000
const MAX_WAITING = 10_000
/** A query that hangs leaves the way to another. */
const QUERIES_AT_ONCE = 2

export interface LookUps {
  /** Whether the account has had such a key, dead or alive. */
  isKeyOf(account: string, hash: Uint8Array): Promise<boolean>
  guestDevice(deviceHash: Uint8Array): Promise<GuestDevice>
}

export function openLookUps(database: Database): LookUps {
  const isKeyOf = gatherQuestions((keys: { account: string; hash: Uint8Array }[]) => areKeysOf(database, keys))
  const guestDevice = gatherQuestions((hashes: Uint8Array[]) => findGuestDevices(database, hashes))
  return { isKeyOf: (account, hash) => isKeyOf({ account, hash }), guestDevice }
}

interface Waiting<Question, Answer> {
  question: Question
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** `answerAll` answers as many as it is asked, in their order. */
export function gatherQuestions<Question, Answer>(
  answerAll: (questions: Question[]) => Promise<Answer[]>,
): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = []
  let running = 0

  const runNext = () => {
    if (running >= QUERIES_AT_ONCE || waiting.length === 0) return
    const batch = waiting.slice(0, AT_A_TIME)
    waiting = waiting.slice(AT_A_TIME)
    running++
    void answerAll(batch.map(({ question }) => question))
      .then(
        (answers) => batch.forEach(({ resolve }, index) => resolve(answers[index]!)),
        (error: unknown) => batch.forEach(({ reject }) => reject(error)),
      )
      .finally(() => {
        running--
        runNext()
      })
  }
  return (question) => {
    if (waiting.length >= MAX_WAITING) return Promise.reject(new Error('too many look-ups wait for the database'))
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    waiting.push({ question, resolve, reject })
    runNext()
    return promise
  }
}
