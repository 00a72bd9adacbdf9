/**
 * A bounded queue in which accounts take turns, first in first out within each account. In a full queue, the account with the most
 * waiters gives one up to an account with fewer.
 */

export interface Waiter {
  account: string
}

export interface FairQueue<W extends Waiter> {
  /** Returns false when the queue is full for this account. `onEvicted` receives the waiter that gave way. */
  add(waiter: W): boolean
  remove(waiter: W): void
  /** Removes and returns the next waiter in turn among those that want the offer. */
  take(wants: (waiter: W) => boolean): W | null
  each(visit: (waiter: W) => void): void
  readonly size: number
}

export function createFairQueue<W extends Waiter>(limit: number, onEvicted: (waiter: W) => void): FairQueue<W> {
  /** In the order of turns: a served account moves to the end. */
  const lines = new Map<string, W[]>()

  function add(waiter: W): boolean {
    const line = lines.get(waiter.account) ?? []
    if (queue.size >= limit) {
      const longest = longestLine()
      if (!longest || longest.length <= line.length + 1) return false
      const evicted = longest.at(-1)!
      remove(evicted)
      onEvicted(evicted)
    }
    line.push(waiter)
    lines.set(waiter.account, line)
    queue.size++
    return true
  }

  function remove(waiter: W): void {
    const line = lines.get(waiter.account)
    const at = line?.indexOf(waiter) ?? -1
    if (!line || at < 0) return
    line.splice(at, 1)
    queue.size--
    if (line.length === 0) lines.delete(waiter.account)
  }

  function take(wants: (waiter: W) => boolean): W | null {
    for (const [account, line] of lines) {
      const waiter = line.find(wants)
      if (!waiter) continue
      remove(waiter)
      if (lines.delete(account) && line.length > 0) lines.set(account, line)
      return waiter
    }
    return null
  }

  function longestLine(): W[] | null {
    let longest: W[] | null = null
    for (const line of lines.values()) if (!longest || line.length > longest.length) longest = line
    return longest
  }

  function each(visit: (waiter: W) => void): void {
    for (const line of lines.values()) line.forEach(visit)
  }

  const queue = { size: 0, add, remove, take, each }
  return queue
}
