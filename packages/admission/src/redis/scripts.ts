/**
 * The Lua scripts. Each is the shared prelude followed by one file, so that a script is one EVALSHA and its logic is
 * written once.
 */

import { composeScript } from '@gateway/redis/script'

export const LUA = new URL('../lua/', import.meta.url)

const END = ['request', 'charge', 'tokens'] as const
const ADMIT = [
  'request',
  'keyHash',
  'planHint',
  'planIncludesModel',
  'requestsPerMinute',
  'tokensPerMinute',
  /** -1: no cap. */
  'requestsPerDay',
  'allowance',
  'usualTokens',
  'worstCharge',
  'leaseMs',
] as const
/** `extraWindow`: the window of `extra`, '' for the present one. `moreLater`: top-ups of a later window are known. */
const FILL = ['version', 'plan', 'overage', 'extra', 'extraWindow', 'moreLater'] as const
/** `makesKnown`: the total was asked for. */
const SETTLE = ['totalWindow', 'settled', 'version', 'makesKnown'] as const

/** With the names of their arguments. Yes and no are 1 and 0. */
export const scripts = {
  admit: composeScript(LUA, ['prelude', 'ending', 'admit'], { once: ADMIT, each: END }),
  finish: composeScript(LUA, ['prelude', 'ending', 'finish'], { once: END }),
  renew: composeScript(LUA, ['prelude', 'renew'], { once: ['leaseMs'], each: ['request', 'worstCharge', 'window'] }),
  authenticate: composeScript(LUA, ['prelude', 'authenticate'], { once: ['keyHash'] }),
  fill: composeScript(LUA, ['prelude', 'account', 'fill'], { once: FILL, each: ['keyHash', 'version', 'active'] }),
  deactivate: composeScript(LUA, ['prelude', 'account', 'deactivate'], { once: ['keyHash', 'version'] }),
  settle: composeScript(LUA, ['prelude', 'ending', 'settle'], {
    once: SETTLE,
    each: ['request', 'tokens', 'mayChange'],
  }),
  inspect: composeScript(LUA, ['prelude', 'inspect']),
  recount: composeScript(LUA, ['prelude', 'ending', 'recount']),
}

export type ScriptName = keyof typeof scripts

/** The keys of an account, in the order in which the prelude names them. All lie in the slot of the tag. */
export function accountKeys(account: string): string[] {
  const tag = `adm:{${account}}:`
  return [`${tag}account`, `${tag}use`, `${tag}leases`, `${tag}log`]
}
