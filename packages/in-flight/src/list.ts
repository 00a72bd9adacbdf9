/**
 * A list for what is under way: whoever joins it is handed the place to leave again. What has left can be collected at
 * once; README.md says why a `Set` does not let it.
 */

export interface Place {
  /** Once; later calls do nothing. */
  leave(): void
}

export class InFlightList<Item extends object> {
  readonly #places = new Set<TakenPlace<Item>>()

  get size(): number {
    return this.#places.size
  }

  join(item: Item): Place {
    const place = new TakenPlace(item, this.#places)
    this.#places.add(place)
    return place
  }

  /** Oldest first. Whoever joins or leaves meanwhile is seen or left out, as with a `Set`. */
  *[Symbol.iterator](): Generator<Item> {
    for (const { item } of this.#places) if (item !== undefined) yield item
  }
}

class TakenPlace<Item> implements Place {
  item: Item | undefined
  readonly #places: Set<TakenPlace<Item>>

  constructor(item: Item, places: Set<TakenPlace<Item>>) {
    this.item = item
    this.#places = places
  }

  leave(): void {
    this.item = undefined
    this.#places.delete(this)
  }
}
