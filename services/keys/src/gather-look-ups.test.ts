import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gatherQuestions } from './gather-look-ups.ts'

test('a question alone is asked at once; those that come meanwhile are asked together', async () => {
  const asked: number[][] = []
  const gates: (() => void)[] = []
  const ask = gatherQuestions(async (questions: number[]) => {
    asked.push(questions)
    await new Promise<void>((resolve) => void gates.push(resolve))
    return questions.map((question) => question * 2)
  })
  const answers = [1, 2, 3, 4, 5].map(ask)
  expect(asked).toEqual([[1], [2]])
  gates[0]!()
  expect(await answers[0]).toBe(2)
  await new Promise((resolve) => setImmediate(resolve))
  expect(asked).toEqual([[1], [2], [3, 4, 5]])
  for (const open of gates) open()
  await new Promise((resolve) => setImmediate(resolve))
  for (const open of gates) open()
  expect(await Promise.all(answers)).toEqual([2, 4, 6, 8, 10])
})

test('of a flood each gets its own answer, at a few queries, and beyond a bound a refusal', async () => {
  let queries = 0
  const ask = gatherQuestions(async (questions: number[]) => {
    queries++
    await new Promise((resolve) => setImmediate(resolve))
    return questions.map((question) => -question)
  })
  const answers = await Promise.allSettled(Array.from({ length: 12_000 }, (_, index) => ask(index)))
  const given = answers.flatMap((answer, index) => (answer.status === 'fulfilled' ? [[index, answer.value]] : []))
  expect(given).toHaveLength(10_002)
  expect(given.every(([question, answer]) => answer === -question!)).toBe(true)
  expect(queries).toBeLessThanOrEqual(13)
})

test('whichever queries fail, everybody is answered, and the next ones are asked', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), async (fails) => {
      let query = 0
      const ask = gatherQuestions(async (questions: number[]) => {
        const isFailing = fails[query++ % fails.length]
        await new Promise((resolve) => setImmediate(resolve))
        if (isFailing) throw new Error('the database is away')
        return questions
      })
      for (let round = 0; round < 3; round++) {
        const answers = await Promise.allSettled([1, 2, 3, 4].map(ask))
        answers.forEach((answer, index) => {
          if (answer.status === 'fulfilled') expect(answer.value).toBe(index + 1)
        })
      }
    }),
  )
})
