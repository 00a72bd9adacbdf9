/**
 * A map for what is under way: entries that come and go with every request. What has left it can be collected at once;
 * README.md says why a `Map` does not let it.
 */

interface Cell<Value> {
  value: Value | undefined
}

export class InFlightMap<Key, Value extends object> {
  readonly #cells = new Map<Key, Cell<Value>>()

  get size(): number {
    return this.#cells.size
  }

  has(key: Key): boolean {
    return this.#cells.has(key)
  }

  get(key: Key): Value | undefined {
    return this.#cells.get(key)?.value
  }

  set(key: Key, value: Value): void {
    const cell = this.#cells.get(key)
    if (cell === undefined) this.#cells.set(key, { value })
    else cell.value = value
  }

  delete(key: Key): void {
    const cell = this.#cells.get(key)
    if (cell === undefined) return
    cell.value = undefined
    this.#cells.delete(key)
  }

  /** Oldest first. What is added or deleted meanwhile is seen or left out, as with a `Map`. */
  *[Symbol.iterator](): Generator<[Key, Value]> {
    for (const [key, { value }] of this.#cells) if (value !== undefined) yield [key, value]
  }

  *values(): Generator<Value> {
    for (const { value } of this.#cells.values()) if (value !== undefined) yield value
  }
}
