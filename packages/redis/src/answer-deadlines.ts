/**
 * The time that calls to Redis have, from when they leave: one timer for all, since each has the same and they leave in
 * order.
 *
 * An answer that arrived while this process was too busy to read it still counts: sockets are read before the immediate
 * that comes after the timer.
 */

interface Waiting {
  dueAtMs: number
  isOver: boolean
  tooLate(): void
}

export interface AnswerDeadlines {
  /**
   * The answer, or a rejection when it takes too long. `again` may ask anew where the first answer was an error, within
   * the same time.
   */
  wait<Answer>(answer: Promise<Answer>, again?: (error: unknown) => Promise<Answer> | null): Promise<Answer>
  /** What waited to leave has left. */
  sent(): void
}

export function createAnswerDeadlines(timeoutMs: number): AnswerDeadlines {
  const leaving: Waiting[] = []
  /** In the order in which they left. */
  const underWay = new Set<Waiting>()
  let timer: NodeJS.Timeout | undefined

  const expire = (): void => {
    timer = undefined
    const nowMs = performance.now()
    for (const waiting of underWay) {
      if (waiting.dueAtMs > nowMs) {
        expireAfter(waiting.dueAtMs - nowMs)
        return
      }
      underWay.delete(waiting)
      waiting.tooLate()
    }
  }
  const expireAfter = (ms: number): void => {
    timer = setTimeout(() => setImmediate(expire), ms).unref()
  }

  return {
    wait: <Answer>(answer: Promise<Answer>, again?: (error: unknown) => Promise<Answer> | null) =>
      new Promise<Answer>((resolve, reject) => {
        const waiting: Waiting = {
          dueAtMs: Infinity,
          isOver: false,
          tooLate: () => reject(new Error(`Redis did not answer within ${timeoutMs} ms`)),
        }
        leaving.push(waiting)
        const over = (): void => {
          waiting.isOver = true
          underWay.delete(waiting)
        }
        const answered = (value: Answer): void => {
          over()
          resolve(value)
        }
        const failed = (error: unknown): void => {
          over()
          reject(error)
        }
        answer.then(answered, (error: unknown) => {
          const second = again?.(error)
          if (second) second.then(answered, failed)
          else failed(error)
        })
      }),

    sent() {
      const dueAtMs = performance.now() + timeoutMs
      for (const waiting of leaving) {
        if (waiting.isOver) continue
        waiting.dueAtMs = dueAtMs
        underWay.add(waiting)
      }
      leaving.length = 0
      if (timer === undefined && underWay.size > 0) expireAfter(timeoutMs)
    },
  }
}
