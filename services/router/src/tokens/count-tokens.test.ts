import { afterAll, describe, expect, test } from 'vitest'
import { countByLength, openTokenCounter } from './count-tokens.ts'

const counter = openTokenCounter()
afterAll(() => counter.close())

describe('counting tokens', () => {
  test('gives the count of a tokenizer', async () => {
    expect(await counter.count('The quick brown fox jumps over the lazy dog.')).toBe(10)
    expect(await counter.count('')).toBe(0)
  })

  test('takes text that looks like a special token for text', async () => {
    expect(await counter.count('<|endoftext|>')).toBeGreaterThan(1)
  })

  test('of a long run without a space ends soon, and does not hold up the process', async () => {
    // A timer of milliseconds may come behind a count that is quicker.
    let turns = 0
    let isCounting = true
    const turn = () => {
      turns++
      if (isCounting) setImmediate(turn)
    }
    setImmediate(turn)
    const tokens = await counter.count('a'.repeat(200_000))
    isCounting = false
    expect(tokens).toBeGreaterThan(20_000)
    expect(turns).toBeGreaterThan(3)
  })

  test("reads texts from the tokens of OpenAI's embedding models, and fails where that fails", async () => {
    expect(await counter.textsOf([[9_906, 11, 1_917], [57_668]])).toEqual(['Hello, world', expect.any(String)])
    const closed = openTokenCounter()
    const reading = closed.textsOf([[1]]).catch((error: Error) => error.message)
    await closed.close()
    expect(await reading).toContain('could not be read')
  })

  test('a closed counter estimates by length', async () => {
    const closed = openTokenCounter()
    const counting = closed.count('four words are here')
    await closed.close()
    expect([countByLength('four words are here'), 4]).toContain(await counting)
  })
})
