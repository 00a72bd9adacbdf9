/**
 * Bounds the bytes of clients that this process holds at once: in all, and for each sender.
 *
 * Each kind of bytes has a budget of its own. So senders who cost nothing to become (a key that is made up, a guest) never
 * take the memory of those who pay. Nor do large bodies ever take the memory of small ones. In every budget one sender has a
 * share only. The sender is an address while nobody has proven a key, and for guests; otherwise it is the account. Pure: it
 * takes and gives, nothing else.
 *
 * Each sender gives back as much as it took. So when nothing is in flight, every budget is free again and no sender is
 * remembered.
 */

export type MemoryBudget =
  /** Small bodies that are read before their key was looked up. */
  | 'unproven'
  /** A connection's share while its key is looked up, before its body is read. */
  | 'proving'
  /** Bodies of guests. */
  | 'guests'
  /** Bodies of all others whose key is alive. */
  | 'accounts'
  /** Responses that their readers have not read. */
  | 'answers'
export type BodyBudget = Exclude<MemoryBudget, 'answers'>

/** The reason for a refusal: this sender has no memory left, or nobody has. */
export type Taken = 'taken' | 'sender_full' | 'full'

interface BudgetState {
  limit: number
  perSender: number
  used: number
  bySender: Map<string, number>
}

export interface ByteBudget {
  /** Of `guests` and `accounts` together. */
  readonly provenLimit: number
  /** The limit of all budgets but `answers` together. */
  readonly bodiesLimit: number
  readonly memoryBudgets: Readonly<Record<MemoryBudget, BudgetState>>
}

/** Parts of the whole. Those of bodies come to 5/8; together with `answers` the whole is given out. */
const SHARES: Record<MemoryBudget, { total: number; sender: number }> = {
  unproven: { total: 1 / 16, sender: 1 / 32 },
  proving: { total: 1 / 16, sender: 1 / 32 },
  guests: { total: 1 / 4, sender: 1 / 8 },
  accounts: { total: 1 / 2, sender: 3 / 8 },
  // The budget refuses no response; `isCrowding` finds the sender that holds more than its fair part.
  answers: { total: 3 / 8, sender: 3 / 8 },
}
const PROVEN_SHARE = 1 / 2
const BODIES_SHARE = 5 / 8

/** `largestBody`: every kind of sender has memory for at least one such body. */
export function createByteBudget(totalBytes: number, largestBody: number): ByteBudget {
  const bodyFits = (bytes: number) => Math.max(largestBody, Math.floor(bytes))
  const budgetOf = (memoryBudget: MemoryBudget): BudgetState => {
    const { total, sender } = SHARES[memoryBudget]
    const size = memoryBudget === 'guests' || memoryBudget === 'accounts' ? bodyFits : Math.floor
    return { limit: size(totalBytes * total), perSender: size(totalBytes * sender), used: 0, bySender: new Map() }
  }
  const memoryBudgets = {
    unproven: budgetOf('unproven'),
    proving: budgetOf('proving'),
    guests: budgetOf('guests'),
    accounts: budgetOf('accounts'),
    answers: budgetOf('answers'),
  }
  const provenLimit = bodyFits(totalBytes * PROVEN_SHARE)
  return { provenLimit, bodiesLimit: Math.max(provenLimit, Math.floor(totalBytes * BODIES_SHARE)), memoryBudgets }
}

/** Takes the bytes of a body, or none of them. */
export function take(budget: ByteBudget, memoryBudget: BodyBudget, sender: string, bytes: number): Taken {
  const { limit, perSender, used, bySender } = budget.memoryBudgets[memoryBudget]
  if ((bySender.get(sender) ?? 0) + bytes > perSender) return 'sender_full'
  if (used + bytes > limit) return 'full'
  if (isProven(memoryBudget) && provenBytes(budget) + bytes > budget.provenLimit) return 'full'
  if (bodyBytes(budget) + bytes > budget.bodiesLimit) return 'full'
  takeAnyway(budget, memoryBudget, sender, bytes)
  return 'taken'
}

/** For bytes that are there already, beyond the limits, too. Later takings meet the limits. */
export function takeAnyway(
  { memoryBudgets }: ByteBudget,
  memoryBudget: MemoryBudget,
  sender: string,
  bytes: number,
): void {
  // A sender of nothing would be remembered for ever: nobody gives nothing back.
  if (bytes === 0) return
  const state = memoryBudgets[memoryBudget]
  state.used += bytes
  state.bySender.set(sender, (state.bySender.get(sender) ?? 0) + bytes)
}

export function give({ memoryBudgets }: ByteBudget, memoryBudget: MemoryBudget, sender: string, bytes: number): void {
  const state = memoryBudgets[memoryBudget]
  state.used -= bytes
  const left = (state.bySender.get(sender) ?? 0) - bytes
  if (left > 0) state.bySender.set(sender, left)
  else state.bySender.delete(sender)
}

function isProven(memoryBudget: MemoryBudget): boolean {
  return memoryBudget === 'guests' || memoryBudget === 'accounts'
}

function provenBytes({ memoryBudgets }: ByteBudget): number {
  return memoryBudgets.guests.used + memoryBudgets.accounts.used
}

function bodyBytes(budget: ByteBudget): number {
  return budget.memoryBudgets.unproven.used + budget.memoryBudgets.proving.used + provenBytes(budget)
}

/**
 * True where unread responses are too many and this sender has at least its part of them. While they are too many, there is
 * such a sender.
 */
export function isCrowding({ memoryBudgets }: ByteBudget, sender: string): boolean {
  const { used, limit, bySender } = memoryBudgets.answers
  return used > limit && (bySender.get(sender) ?? 0) * bySender.size >= limit
}
