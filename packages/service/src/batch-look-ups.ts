/**
 * Answers questions in batches. Questions of one turn of the event loop form a batch. While all places are taken,
 * further questions wait and form the next batch. So a crowd costs as few rounds as it fills batches, and `atOnce`
 * bounds its share of a database. A question that finds `mostWaiting` others waiting is refused at once. Each question
 * has an outcome of its own; a batch that throws fails all its questions.
 */

interface Asked<Question, Answer> {
  question: Question
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export function batchLookUps<Question, Answer>(options: {
  /** Questions in a batch. */
  atMost: number
  /** Batches under way. */
  atOnce: number
  /** Questions that wait for a batch; no bound by default. */
  mostWaiting?: number
  /** The outcomes, in the order of the questions. */
  answer(questions: Question[]): Promise<PromiseSettledResult<Answer>[]>
}): (question: Question) => Promise<Answer> {
  const { atMost, atOnce, mostWaiting = Infinity, answer } = options
  let waiting: Asked<Question, Answer>[] = []
  let underWay = 0
  let isSoon = false

  function beginSoon(): void {
    if (isSoon || waiting.length === 0 || underWay >= atOnce) return
    isSoon = true
    setImmediate(() => {
      isSoon = false
      while (waiting.length > 0 && underWay < atOnce) {
        const batch = waiting.slice(0, atMost)
        waiting = waiting.slice(atMost)
        void run(batch)
      }
    })
  }

  async function run(batch: Asked<Question, Answer>[]): Promise<void> {
    underWay++
    try {
      const outcomes = await answer(batch.map(({ question }) => question))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index]!
        if (outcome.status === 'fulfilled') resolve(outcome.value)
        else reject(outcome.reason)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      underWay--
      beginSoon()
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= mostWaiting) return reject(new Error(`${mostWaiting} questions wait already`))
      waiting.push({ question, resolve, reject })
      beginSoon()
    })
}
