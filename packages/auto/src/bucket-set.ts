/**
 * Collects the hash buckets of one text, each once, in the order of the text. A bucket's stamp is that of the last text
 * that has it, so nothing is cleared between texts.
 */
export class BucketSet {
  readonly #size: number
  readonly #stamps: Uint32Array
  #stamp = 0
  #buckets: number[] = []

  constructor(size: number) {
    this.#size = size
    this.#stamps = new Uint32Array(size)
  }

  /** Begins a text: the set is empty again. */
  start(): void {
    this.#buckets = []
    if (++this.#stamp < 2 ** 32) return
    this.#stamps.fill(0)
    this.#stamp = 1
  }

  /** Takes any unsigned number; its remainder is the bucket. */
  add(hash: number): void {
    const bucket = hash % this.#size
    if (this.#stamps[bucket] === this.#stamp) return
    this.#stamps[bucket] = this.#stamp
    this.#buckets.push(bucket)
  }

  get buckets(): number[] {
    return this.#buckets
  }
}
