/**
 * The semantic comparison as Markdown.
 */

import { table } from '../report/markdown.ts'
import { AT_ONCE, type BurstResult, QUOTA_REQUESTS, TOKENS_EACH } from './send-burst.ts'

/** Of `checked` responses that reached their clients whole. */
export interface Lost {
  checked: number
  lost: number
}

export interface Row {
  name: string
  /** Or the reason why there is none. */
  burst: BurstResult | string
  /** Null: the bench cannot read its ledger. */
  kills: Lost | null
}

export function reportSemantics(rows: readonly Row[]): string {
  const head = [
    '',
    'served at once',
    'refused at once, though they fit',
    'served one by one then',
    'served beyond the quota',
    'failed',
    'responses lost by kill -9',
  ]
  const missing = rows.flatMap(({ name, burst }) => (typeof burst === 'string' ? [`${name}: ${oneLine(burst)}`] : []))
  return [
    `${AT_ONCE} streams of ${TOKENS_EACH} tokens come at once, and a quota of ${(QUOTA_REQUESTS * TOKENS_EACH).toLocaleString('en-US')} tokens has room for ${QUOTA_REQUESTS}. Then they come one by one until the gateway refuses.`,
    table(
      head,
      rows.map((row) => [row.name, ...cellsOf(row)]),
    ),
    'Lost: the response reached its client whole, and the ledger does not have it exactly once. The bench reads no ledger but this gateway’s.',
    ...missing,
  ].join('\n\n')
}

function cellsOf({ burst, kills }: Row): string[] {
  const lost = kills ? `${kills.lost} of ${kills.checked.toLocaleString('en-US')}` : '–'
  if (typeof burst === 'string') return [...Array.from({ length: 5 }, () => '–'), lost]
  const { servedAtOnce, servedOneByOne, failed } = burst
  const refused = Math.max(0, QUOTA_REQUESTS - servedAtOnce)
  const beyond = Math.max(0, servedAtOnce + servedOneByOne - QUOTA_REQUESTS)
  return [...[servedAtOnce, refused, servedOneByOne, beyond, failed].map(String), lost]
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '/')
}
