/**
 * Those who wait for something that is taken: accounts take turns, and within an account the first comes
 * first. Bounded: when it is full, the account that holds most of it gives way to one that holds less.
 */

export interface Waiter {
  account: string
}

export interface FairQueue<W extends Waiter> {
  /** False when there is no room for this account. `onEvicted` tells a waiter that it had to give way. */
  add(waiter: W): boolean
  remove(waiter: W): void
  /** Takes out the waiter whose turn it is, among those that want what is offered. */
  take(wants: (waiter: W) => boolean): W | null
  each(visit: (waiter: W) => void): void
  readonly size: number
}

export function createFairQueue<W extends Waiter>(limit: number, onEvicted: (waiter: W) => void): FairQueue<W> {
  /** In the order of turns: an account that was served goes to the back. */
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
