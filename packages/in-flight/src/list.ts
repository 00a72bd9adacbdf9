/**
 * A list for what is under way: whoever joins it gets the entry by which it leaves. What has left can be collected at
 * once; README.md says why a `Set` does not let it.
 */

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

  /** Oldest first. Whoever joins or leaves meanwhile is seen or left out, as with a `Set`. */
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
