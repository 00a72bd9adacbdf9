/**
 * Verifies the chain of the audit log, and names the row that is wrong. Each row holds the hash of the one before it, and a hash covers
 * the number, the time and the entry of its row. So nobody changes a row without writing all later ones, and the head, again.
 */

import { createHash } from 'node:crypto'

export interface ChainRow {
  seq: number
  atMs: number
  entry: string
  previous: Uint8Array
  hash: Uint8Array
}

/** A row that is known to be right: the anchor, the head, or the last row of a page before. */
export interface ChainLink {
  seq: number
  hash: Uint8Array
}

export interface ChainProblem {
  kind: 'changed' | 'removed' | 'inserted' | 'reordered'
  seq: number
  message: string
}

export function hashOfRow({ seq, atMs, entry, previous }: Omit<ChainRow, 'hash'>): Buffer {
  return createHash('sha256').update(previous).update(`${seq}\n${atMs}\n${entry}`).digest()
}

/** `rows`: by number. `head`: the last row of the log, where these are its last ones. */
export function verifyChain(start: ChainLink, rows: readonly ChainRow[], head: ChainLink | null): ChainProblem | null {
  let before = start
  for (const row of rows) {
    const problem = linkProblem(before, row, { isFirst: before === start, rows })
    const isBehindEnd = head !== null && row.seq > head.seq
    if (isBehindEnd && problem?.kind !== 'inserted') return inserted(row.seq, 'stands behind the end of the log')
    if (problem) return problem
    before = row
  }
  if (!head || isSame(before, head)) return null
  if (before.seq < head.seq) return removed(before.seq + 1)
  return changed(before.seq)
}

function linkProblem(
  before: ChainLink,
  row: ChainRow,
  { isFirst, rows }: { isFirst: boolean; rows: readonly ChainRow[] },
): ChainProblem | null {
  const expected = before.seq + 1
  if (row.seq > expected) return removed(expected)
  if (row.seq < expected) return inserted(row.seq, 'stands there twice')
  const isLinked = equal(row.previous, before.hash)
  const isOwn = fits(row, row.seq)
  if (isLinked && isOwn) return null
  // Rows that somebody numbered again keep the hash of their former number.
  if (fits(row, row.seq + 1)) return removed(row.seq)
  if (!isFirst && fits(row, row.seq - 1)) return inserted(row.seq - 1, 'was not written by the gateway')
  const follower = rows.find((other) => equal(other.previous, before.hash) && fits(other, expected))
  if (follower) {
    return { kind: 'reordered', seq: row.seq, message: `row ${row.seq} stands in the place of row ${follower.seq}` }
  }
  if (!isOwn) return changed(row.seq)
  return isFirst ? removed(before.seq) : changed(before.seq)
}

function fits(row: ChainRow, seq: number): boolean {
  return equal(hashOfRow({ ...row, seq }), row.hash)
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

function isSame(a: ChainLink, b: ChainLink): boolean {
  return a.seq === b.seq && equal(a.hash, b.hash)
}

const removed = (seq: number): ChainProblem => ({ kind: 'removed', seq, message: `row ${seq} was removed` })
const changed = (seq: number): ChainProblem => ({ kind: 'changed', seq, message: `row ${seq} was changed` })
const inserted = (seq: number, fault: string): ChainProblem => ({
  kind: 'inserted',
  seq,
  message: `row ${seq} ${fault}`,
})
