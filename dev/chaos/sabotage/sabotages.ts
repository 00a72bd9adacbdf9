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

/** The end of a response does not wait until its usage is stored. */
const NO_WAIT: Change = {
  file: 'services/edge/src/relay/settle.ts',
  from: /return open\.reported\n/,
  to: 'open.reported.inTime.catch(() => {})\nreturn { inTime: Promise.resolve(), stored: Promise.resolve() }\n',
}

/** A report that comes twice is a second row. The constraint itself goes too: see `open-stage.ts`. */
const NO_KEY: Change = {
  file: 'services/metering/src/db/ledger.ts',
  from: /on conflict \(request_id\) do update set[^]*?\(held\.account, held\."window", held\.unit\)/,
  to: '',
}

/** A time in Redis, in microseconds. */
export const MINUTE_TURNED_KEY = 'chaos:minute-turned'

/** Requests are counted in fixed minutes from when one is said to have turned: see `sabotageMeanwhile`. */
const COUNTER: Change = {
  file: 'packages/redis/src/script.ts',
  from: /return (readFileSync\(.*\))\n/,
  to: `return $1.replace(
    "redis.call('ZREMRANGEBYSCORE', LOG, '-inf', NOW_US - MINUTE_US)",
    "local turned_us = redis.call('GET', '${MINUTE_TURNED_KEY}') or NOW_US - MINUTE_US\\n" +
    "redis.call('ZREMRANGEBYSCORE', LOG, '-inf', turned_us + floor((NOW_US - turned_us) / MINUTE_US) * MINUTE_US)")\n`,
}

/** A run that lost its edge stays charged beside the one that its client was given. */
const NO_VOID: Change = {
  file: 'services/metering/src/db/claims.ts',
  from: /where lost\.outcome = 'edge_lost' and not lost\.delivered/,
  to: 'where false',
}

/** Each of a client's repeats is the backend's fault, and puts it out for all. */
const ACCUSED_BACKENDS: readonly Change[] = [
  { file: 'services/router/src/core/backend-health.ts', from: /const isRepeat = .*/, to: 'const isRepeat = false' },
  {
    file: 'services/router/src/core/backend-health.ts',
    from: /const isOfOneAccount = .*/,
    to: 'const isOfOneAccount = false',
  },
]

/** An edge reads each body itself, of any size and from any sender, while all others wait. */
const READ_ON_LOOP: readonly Change[] = [
  { file: 'services/edge/src/http/read-json-body.ts', from: /isLarge\(bytes, response\) \?/, to: 'false ?' },
  {
    file: 'services/edge/src/core/cpu-shares.ts',
    from: /export function waitFor\([^)]*\): number \{/,
    to: '$& return 0',
  },
]

/** A stream goes on behind its cap for as long as its backend does. */
const NO_CAP: Change = {
  file: 'services/router/src/core/output-limit.ts',
  from: /isTooMany\(tokens: number\): boolean \{/,
  to: '$& return false',
}

/** Changes a line of a script for Redis: see `sabotages.test.ts`. */
function inScript(from: string, to: string): Change {
  return {
    file: 'packages/redis/src/script.ts',
    from: /return (readFileSync\(.*\))\n/,
    to: `return $1.replaceAll(${JSON.stringify(from)}, ${JSON.stringify(to)})\n`,
  }
}

/** The lines of scripts for Redis that sabotages change. */
export const SCRIPT_LINES = {
  keyLimits: 'if key_monthly >= 0 or key_rpm >= 0 or key_tpm >= 0 then',
  keyScope: "others = { { scope = 'key ',",
} as const

/** A new key is not in the audit log. */
const NO_AUDIT_ROW: Change = {
  file: 'services/keys/src/db/audit-log.ts',
  from: /if \(entries\.length === 0\) return\n/,
  to: "if (entries.length === 0 || entries.some((entry) => entry.includes('api_key.created'))) return\n",
}

/** The store never hears of dead keys. */
const NO_TOMBSTONE: Change = {
  file: 'services/keys/src/announce-changes.ts',
  from: /await bury\(parts, change\)\n/,
  to: 'return forgetChange(parts.urgent, change)\n',
}

/** A model never gets its thoughts back. */
const NO_THOUGHTS: Change = {
  file: 'services/router/src/core/state-seal.ts',
  from: /open\(purpose: StatePurpose, token: string, member = 'encrypted_content'\): string \| null \{/,
  to: "$& if (purpose === 'reasoning' && isStateToken(token)) return ''\n",
}

export const SABOTAGES = {
  'no-wait': [NO_WAIT],
  'no-unique-key': [NO_KEY],
  'counted-minutes': [COUNTER],
  'no-void': [NO_VOID],
  'accused-backends': ACCUSED_BACKENDS,
  'read-on-loop': READ_ON_LOOP,
  'no-cap': [NO_CAP],
  /** Limits of keys count nothing. */
  'no-key-limits': [inScript(SCRIPT_LINES.keyLimits, 'if false then')],
  /** A refusal by a key's limit says that a model's refused. */
  'wrong-scope': [inScript(SCRIPT_LINES.keyScope, "others = { { scope = 'model ',")],
  'no-audit-row': [NO_AUDIT_ROW],
  /** Somebody writes to a row of the audit log: see `sabotageMeanwhile`. */
  'changed-audit-row': [],
  'no-tombstone': [NO_TOMBSTONE],
  'no-thoughts': [NO_THOUGHTS],
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
