import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openMintRateLimiter, type Limited } from './mint-rate-limiter.ts'

const made = { kind: 'made' } as const
const HOUR_MS = 3_600_000
const limited: Limited = { kind: 'limited', retryAfterMs: HOUR_MS }

/** Mints that the test ends. */
function openMints() {
  const begun: { network: string; end(reply: typeof made | Limited): void }[] = []
  const mint = (network: string) => () =>
    new Promise<typeof made | Limited>((resolve) => void begun.push({ network, end: resolve }))
  return { begun, mint }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('new devices that request keys at once', () => {
  test('those of one network mint one after the other, and leave capacity for others', async () => {
    const gate = openMintRateLimiter()
    const { begun, mint } = openMints()
    for (const network of ['a', 'a', 'a', 'b']) void gate.enter({ network, isKnownDevice: false }, mint(network))
    expect(begun.map(({ network }) => network)).toEqual(['a', 'b'])
    begun[0]!.end(made)
    await turn()
    expect(begun.map(({ network }) => network)).toEqual(['a', 'b', 'a'])
  })

  test('those that wait are refused as soon as their network is', async () => {
    const gate = openMintRateLimiter()
    const { begun, mint } = openMints()
    const visits = [1, 2, 3].map(() => gate.enter({ network: 'a', isKnownDevice: false }, mint('a')))
    const known = gate.enter({ network: 'a', isKnownDevice: true }, mint('a'))
    begun[0]!.end(limited)
    expect(await Promise.all(visits)).toEqual([limited, limited, limited])
    expect(begun).toHaveLength(2)
    begun[1]!.end(made)
    expect(await known).toEqual(made)
  })

  test('the limiter repeats a refusal for a second, with the remaining wait', async () => {
    let nowMs = 0
    const gate = openMintRateLimiter(() => nowMs)
    const visit = { network: 'a', isKnownDevice: false }
    expect(await gate.enter(visit, async () => limited)).toEqual(limited)
    nowMs = 900
    const never = () => Promise.reject(new Error('called the database'))
    expect(await gate.enter(visit, never)).toEqual({ kind: 'limited', retryAfterMs: HOUR_MS - 900 })
    expect(await gate.enter({ ...visit, isKnownDevice: true }, async () => made)).toEqual(made)
    nowMs = 1_001
    expect(await gate.enter(visit, async () => made)).toEqual(made)
  })

  test('a visitor that would wait too long is refused, and never kept', async () => {
    let nowMs = 0
    const gate = openMintRateLimiter(() => nowMs)
    const { begun, mint } = openMints()
    const visits = Array.from({ length: 500 }, (_, index) =>
      gate.enter({ network: `${index}`, isKnownDevice: false }, mint(`${index}`)),
    )
    const replies: string[] = []
    for (const visit of visits) void visit.then(({ kind }) => replies.push(kind))
    await turn()
    expect(replies).toEqual(Array(500 - 200 - 3).fill('busy'))
    nowMs = 2_001
    for (const { end } of begun) end(made)
    await turn()
    expect(replies).toHaveLength(500)
    expect(replies.filter((kind) => kind === 'made')).toHaveLength(3)
  })

  test('a mint that fails fails alone', async () => {
    const gate = openMintRateLimiter()
    const visit = { network: 'a', isKnownDevice: false }
    await expect(gate.enter(visit, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(await gate.enter(visit, async () => made)).toEqual(made)
  })
})

test('at any number of requests and any outcomes, each gets a reply, few mint at once, and a network never twice', async () => {
  const visit = fc.record({
    network: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    isKnownDevice: fc.boolean(),
    outcome: fc.constantFrom('made', 'limited', 'fails'),
    turns: fc.nat(3),
    afterMs: fc.constantFrom(0, 0, 400, 2_100),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(visit, { maxLength: 60 }), async (visits) => {
      let nowMs = 0
      const gate = openMintRateLimiter(() => nowMs)
      const inside: string[] = []
      const replies = visits.map(async ({ network, isKnownDevice, outcome, turns, afterMs }) => {
        nowMs += afterMs
        const reply = gate.enter({ network, isKnownDevice }, async () => {
          inside.push(network)
          expect(inside.length).toBeLessThanOrEqual(3)
          expect(new Set(inside).size).toBe(inside.length)
          for (let left = turns; left > 0; left--) await turn()
          inside.splice(inside.indexOf(network), 1)
          if (outcome === 'fails') throw new Error('failed')
          return outcome === 'limited' ? limited : made
        })
        const { kind } = await reply.catch(() => ({ kind: 'failed' }))
        return { kind, isKnownDevice, outcome }
      })
      for (const { kind, isKnownDevice, outcome } of await Promise.all(replies)) {
        // The cap does not concern a known device: nobody else's refusal is its own.
        if (isKnownDevice && kind === 'limited') expect(outcome).toBe('limited')
        if (kind === 'made') expect(outcome).toBe('made')
      }
      expect(inside).toEqual([])
    }),
  )
})
