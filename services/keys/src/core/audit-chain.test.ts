import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashOfRow, verifyChain, type ChainLink, type ChainRow } from './audit-chain.ts'

const START: ChainLink = { seq: 0, hash: Buffer.alloc(32) }

function chainOf(entries: readonly string[], start = START): ChainRow[] {
  let previous = start.hash
  return entries.map((entry, index) => {
    const content = { seq: start.seq + index + 1, atMs: 1_000 + index, entry, previous }
    const hash = hashOfRow(content)
    previous = hash
    return { ...content, hash }
  })
}

const linkOf = ({ seq, hash }: ChainRow): ChainLink => ({ seq, hash })
/** The head is the end of the log, in a table of its own. */
const verify = (rows: readonly ChainRow[], head: ChainLink, start = START) => verifyChain(start, rows, head)

const entries = fc.array(fc.json(), { minLength: 2, maxLength: 12 })
const cases = entries.chain((list) => fc.tuple(fc.constant(list), fc.nat(list.length - 1), fc.nat(list.length - 1)))

test('the rows that the gateway wrote verify, as a whole and in pages', () => {
  fc.assert(
    fc.property(cases, ([list, at]) => {
      const rows = chainOf(list)
      const head = linkOf(rows.at(-1)!)
      expect(verify(rows, head)).toBeNull()
      expect(verifyChain(START, rows.slice(0, at), null)).toBeNull()
      expect(verify(rows.slice(at), head, at === 0 ? START : linkOf(rows[at - 1]!))).toBeNull()
    }),
  )
})

test('a changed row is named: its entry, its time or its hash', () => {
  fc.assert(
    fc.property(
      cases,
      fc.constantFrom('entry' as const, 'atMs' as const, 'hash' as const, 'previous' as const),
      ([list, at], member) => {
        const rows = chainOf(list)
        const row = rows[at]!
        const other = {
          entry: `${row.entry} `,
          atMs: row.atMs + 1,
          hash: flipped(row.hash),
          previous: flipped(row.previous),
        }
        const altered = rows.with(at, { ...row, [member]: other[member] })
        expect(verify(altered, linkOf(rows.at(-1)!))).toMatchObject({ kind: 'changed', seq: row.seq })
      },
    ),
  )
})

test('a changed row whose hash is calculated again is named, also where it is the last one', () => {
  fc.assert(
    fc.property(cases, ([list, at]) => {
      const rows = chainOf(list)
      const forged = { ...rows[at]!, entry: `${rows[at]!.entry} ` }
      const altered = rows.with(at, { ...forged, hash: hashOfRow(forged) })
      expect(verify(altered, linkOf(rows.at(-1)!))).toMatchObject({ kind: 'changed', seq: forged.seq })
    }),
  )
})

test('a removed row is named, also the first and the last, and also where later rows take its number', () => {
  fc.assert(
    fc.property(cases, ([list, at]) => {
      const rows = chainOf(list)
      const head = linkOf(rows.at(-1)!)
      const left = rows.toSpliced(at, 1)
      expect(verify(left, head)).toMatchObject({ kind: 'removed', seq: at + 1 })
      const renumbered = left.map((row, index) => ({ ...row, seq: index + 1 }))
      expect(verify(renumbered, head)).toMatchObject({ kind: 'removed', seq: at + 1 })
    }),
  )
})

test('an inserted row is named, in the middle and behind the end', () => {
  fc.assert(
    fc.property(cases, fc.json(), ([list, at], entry) => {
      const rows = chainOf(list)
      const before = at === 0 ? START : linkOf(rows[at - 1]!)
      const [forged] = chainOf([entry], before)
      const shifted = rows.slice(at).map((row) => ({ ...row, seq: row.seq + 1 }))
      const head = linkOf(rows.at(-1)!)
      expect(verify([...rows.slice(0, at), forged!, ...shifted], head)).toMatchObject({ kind: 'inserted', seq: at + 1 })
      const [appended] = chainOf([entry], head)
      expect(verify([...rows, appended!], head)).toMatchObject({ kind: 'inserted', seq: list.length + 1 })
    }),
  )
})

test('two rows that changed places are named', () => {
  fc.assert(
    fc.property(cases, ([list, one, other]) => {
      fc.pre(one !== other)
      const [first, second] = [Math.min(one, other), Math.max(one, other)]
      // A neighbour's hash of its former number reads as a removed row.
      fc.pre(second > first + 1)
      const rows = chainOf(list)
      const [a, b] = [rows[first]!, rows[second]!]
      const swapped = rows.with(first, { ...b, seq: a.seq }).with(second, { ...a, seq: b.seq })
      expect(verify(swapped, linkOf(rows.at(-1)!))).toMatchObject({ kind: 'reordered', seq: a.seq })
    }),
  )
})

test('any change of any row, and any other order, is found', () => {
  fc.assert(
    fc.property(cases, fc.infiniteStream(fc.nat()), ([list], random) => {
      const rows = chainOf(list)
      const pick = (count: number) => random.next().value! % count
      const altered = [...rows]
      const [from] = altered.splice(pick(rows.length), 1)
      if (pick(2) === 0) altered.splice(pick(rows.length), 0, from!)
      const numbered = pick(2) === 0 ? altered : altered.map((row, index) => ({ ...row, seq: index + 1 }))
      const isSame = numbered.length === rows.length && numbered.every((row, at) => row.hash === rows[at]!.hash)
      const problem = verify(numbered, linkOf(rows.at(-1)!))
      if (isSame) expect(problem).toBeNull()
      else expect(problem).not.toBeNull()
    }),
  )
})

function flipped(hash: Uint8Array): Buffer {
  const copy = Buffer.from(hash)
  copy[0]! ^= 1
  return copy
}
