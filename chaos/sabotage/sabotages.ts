/**
 * Ways to break the gateway so that the suite has to notice: each takes away one thing that a promise rests on. The
 * product knows nothing of it: a line of its source is changed as a process of a run loads it.
 */

export interface Change {
  /** The end of the source file's path. */
  file: string
  from: RegExp
  to: string
}

/** The end of an answer does not wait until its usage is stored. */
const NO_WAIT: Change = {
  file: 'services/edge/src/report-usage.ts',
  from: /return open\.stored\n/,
  to: 'open.stored.catch(() => {})\nreturn Promise.resolve()\n',
}

/** A report that comes twice is a second row. The constraint itself goes too: see `open-stage.ts`. */
const NO_KEY: Change = {
  file: 'services/metering/src/db/ledger.ts',
  from: /on conflict \(request_id\) do update set[^]*?\(held\.account, held\."window", held\.unit\)/,
  to: '',
}

/** Requests are counted in fixed minutes, which turn at `CHAOS_MINUTE_TURNS_AT_MS`. */
const COUNTER: Change = {
  file: 'packages/redis/src/script.ts',
  from: /return (readFileSync\(.*\))\n/,
  to: `return $1.replace(
    "redis.call('ZREMRANGEBYSCORE', LOG, '-inf', NOW_US - MINUTE_US)",
    "local turn_us = (process_turn_ms) * 1000\\n".replace('process_turn_ms', process.env['CHAOS_MINUTE_TURNS_AT_MS']) +
    "redis.call('ZREMRANGEBYSCORE', LOG, '-inf', turn_us + floor((NOW_US - turn_us) / MINUTE_US) * MINUTE_US)")\n`,
}

export const SABOTAGES = {
  'no-wait': [NO_WAIT],
  'no-unique-key': [NO_KEY],
  'counted-minutes': [COUNTER],
} as const satisfies Record<string, readonly Change[]>
export type Sabotage = keyof typeof SABOTAGES

/** Sabotage that no longer fits the source would prove nothing. */
export function change(source: string, path: string, changes: readonly Change[]): string {
  return changes
    .filter(({ file }) => path.endsWith(file))
    .reduce((text, { file, from, to }) => {
      if (!from.test(text)) throw new Error(`the sabotage of ${file} does not fit its source any more`)
      return text.replace(from, to)
    }, source)
}
