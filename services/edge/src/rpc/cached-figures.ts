/**
 * Figures of the ledger, kept for a moment: a client that polls its own figures causes about one read of PostgreSQL a second.
 *
 * An end of one of the account's requests on this edge makes its figures old, so they show the usage that this edge has
 * stored. They show the usage of other edges when the moment is over. A query that fails is not kept.
 */

import { GatewayError } from '@gateway/contracts/errors'

export const KEPT_MS = 1_000
/** Others wait for these. */
const CALLS_AT_ONCE = 2
const MOST_WAITING = 64
const MOST_ACCOUNTS = 10_000
/** Of one account: days and groups of usage differ. */
const MOST_QUESTIONS = 16

export interface Figures<Question, Reply> {
  read(question: Question): Promise<Reply>
  /** A request of the account has ended and is stored. */
  ended(account: string): void
}

interface Kept<Reply> {
  reply: Promise<Reply>
  /** Infinity while the read is under way. */
  untilMs: number
}

export function keepFigures<Question extends { account: string }, Reply>(
  read: (question: Question) => Promise<Reply>,
  nowMs: () => number = () => performance.now(),
): Figures<Question, Reply> {
  const kept = new Map<string, Map<string, Kept<Reply>>>()
  const lines = new Map<string, Line>()

  function keep(question: Question, name: string): Promise<Reply> {
    const ofAccount = bounded(kept, question.account, MOST_ACCOUNTS, () => new Map<string, Kept<Reply>>())
    const entry: Kept<Reply> = { reply: inLine(question), untilMs: Infinity }
    if (ofAccount.size >= MOST_QUESTIONS) ofAccount.delete(ofAccount.keys().next().value!)
    ofAccount.set(name, entry)
    entry.reply.then(
      () => (entry.untilMs = nowMs() + KEPT_MS),
      () => ofAccount.get(name) === entry && ofAccount.delete(name),
    )
    return entry.reply
  }

  async function inLine(question: Question): Promise<Reply> {
    const { account } = question
    const line = lines.get(account) ?? openLine()
    lines.set(account, line)
    if (!(await line.enter())) throw tooMany()
    try {
      return await read(question)
    } finally {
      if (line.leave()) lines.delete(account)
    }
  }

  return {
    read(question) {
      const name = JSON.stringify(question)
      const known = kept.get(question.account)?.get(name)
      return known && known.untilMs > nowMs() ? known.reply : keep(question, name)
    },
    ended: (account) => void kept.delete(account),
  }
}

/** Of an account's calls. */
type Line = ReturnType<typeof openLine>

function openLine() {
  let calls = 0
  const waiting: (() => void)[] = []
  return {
    /** False: too many wait already. */
    async enter(): Promise<boolean> {
      if (calls < CALLS_AT_ONCE) {
        calls++
        return true
      }
      if (waiting.length >= MOST_WAITING) return false
      await new Promise<void>((resolve) => waiting.push(resolve))
      return true
    },
    /** True: nobody is left. The next takes the place over. */
    leave(): boolean {
      const next = waiting.shift()
      if (next) next()
      else calls--
      return calls === 0
    },
  }
}

function tooMany(): GatewayError {
  const sentence = `Too many questions about this account at once; try again in ${KEPT_MS} ms`
  return new GatewayError('rate_limit_exceeded', sentence, { type: 'requests', retryAfterMs: KEPT_MS })
}

/** Forgets the oldest entry when full: a Map keeps insertion order. */
function bounded<Value>(map: Map<string, Value>, name: string, most: number, make: () => Value): Value {
  const known = map.get(name)
  if (known) return known
  if (map.size >= most) map.delete(map.keys().next().value!)
  const made = make()
  map.set(name, made)
  return made
}
