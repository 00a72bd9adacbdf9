/**
 * Looks requests up in batches. The requests of one turn of the event loop form a batch. While `concurrency` batches run, further
 * requests wait and form the next batch. So a crowd costs few queries, and `concurrency` bounds its share of a database.
 *
 * A request that finds `maxWaiting` others waiting fails at once. Each request has its own outcome; a batch that throws fails all of
 * its requests.
 */

interface PendingLookUp<Request, Outcome> {
  request: Request
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

export function batchLookUps<Request, Outcome>(options: {
  /** The most requests in a batch. */
  batchSize: number
  /** The most batches that run at once. */
  concurrency: number
  /** The most requests that wait for a batch; no bound by default. */
  maxWaiting?: number
  /** Returns the outcomes in the order of the requests. */
  lookUp(requests: Request[]): Promise<PromiseSettledResult<Outcome>[]>
}): (request: Request) => Promise<Outcome> {
  const { batchSize, concurrency, maxWaiting = Infinity, lookUp } = options
  let waiting: PendingLookUp<Request, Outcome>[] = []
  let running = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || running >= concurrency) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      while (waiting.length > 0 && running < concurrency) {
        const batch = waiting.slice(0, batchSize)
        waiting = waiting.slice(batchSize)
        void run(batch)
      }
    })
  }

  async function run(batch: PendingLookUp<Request, Outcome>[]): Promise<void> {
    running++
    try {
      const outcomes = await lookUp(batch.map(({ request }) => request))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index]!
        if (outcome.status === 'fulfilled') resolve(outcome.value)
        else reject(outcome.reason)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      running--
      schedule()
    }
  }

  return (request) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= maxWaiting) return reject(new Error(`${maxWaiting} requests wait already`))
      waiting.push({ request, resolve, reject })
      schedule()
    })
}
