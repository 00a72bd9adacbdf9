/**
 * Figures of the ledger, kept for a moment: a client that polls its own figures causes about one read of PostgreSQL a second.
 *
 * An end of one of the account's requests on this edge makes its figures old, so they show the usage that this edge has
 * stored. They show the usage of other edges when the moment is over. A query that fails is not kept.
 */

import { GatewayError } from '@gateway/contracts/errors'
import { openLines } from '@gateway/rpc/lines'

export const KEPT_MS = 1_000
/** Of an account's calls. */
const LINE = { atOnce: 2, mostWaiting: 64, refuse: tooMany }
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
  const inLine = openLines(LINE)

  function keep(question: Question, name: string): Promise<Reply> {
    const ofAccount = bounded(kept, question.account, MOST_ACCOUNTS, () => new Map<string, Kept<Reply>>())
    const entry: Kept<Reply> = {
      reply: inLine(question.account, () => read(question)),
      untilMs: Infinity,
    }
    if (ofAccount.size >= MOST_QUESTIONS) ofAccount.delete(ofAccount.keys().next().value!)
    ofAccount.set(name, entry)
    entry.reply.then(
      () => (entry.untilMs = nowMs() + KEPT_MS),
      () => ofAccount.get(name) === entry && ofAccount.delete(name),
    )
    return entry.reply
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
