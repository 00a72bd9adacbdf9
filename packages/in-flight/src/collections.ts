/**
 * Collections for entries that come and go with every request. V8 can collect an entry as soon as it has left;
 * README.md says why a `Map` and a `Set` do not let it.
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

  /** Oldest first. An entry that is added or deleted meanwhile is seen or left out, as with a `Map`. */
  *[Symbol.iterator](): Generator<[Key, Value]> {
    for (const [key, { value }] of this.#cells) if (value !== undefined) yield [key, value]
  }

  *values(): Generator<Value> {
    for (const { value } of this.#cells.values()) if (value !== undefined) yield value
  }
}

/** By which an item leaves its list. */
export interface Entry {
  /** Once; later calls do nothing. */
  leave(): void
}

export class InFlightList<Item extends object> {
  readonly #entries = new Set<ListEntry<Item>>()

  get size(): number {
    return this.#entries.size
  }

  join(item: Item): Entry {
    const entry = new ListEntry(item, this.#entries)
    this.#entries.add(entry)
    return entry
  }

  /** Oldest first. An entry that joins or leaves meanwhile is seen or left out, as with a `Set`. */
  *[Symbol.iterator](): Generator<Item> {
    for (const { item } of this.#entries) if (item !== undefined) yield item
  }
}

class ListEntry<Item> implements Entry {
  item: Item | undefined
  readonly #entries: Set<ListEntry<Item>>

  constructor(item: Item, entries: Set<ListEntry<Item>>) {
    this.item = item
    this.#entries = entries
  }

  leave(): void {
    this.item = undefined
    this.#entries.delete(this)
  }
}
