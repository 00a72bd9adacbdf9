/**
 * The Lua scripts. Each is the shared prelude followed by one file, so that a script is one EVALSHA and its logic is
 * written once.
 */

import { composeScript, type Script } from '@gateway/redis/script'

export const LUA = new URL('../lua/', import.meta.url)

export const scripts = {
  admit: compose('prelude', 'ending', 'admit'),
  finish: compose('prelude', 'ending', 'finish'),
  renew: compose('prelude', 'renew'),
  authenticate: compose('prelude', 'authenticate'),
  fill: compose('prelude', 'account', 'fill'),
  deactivate: compose('prelude', 'account', 'deactivate'),
  settle: compose('prelude', 'ending', 'settle'),
  inspect: compose('prelude', 'inspect'),
  recount: compose('prelude', 'ending', 'recount'),
}

export type ScriptName = keyof typeof scripts

/** The keys of an account, in the order in which the prelude names them. All lie in the slot of the tag. */
export function accountKeys(account: string): string[] {
  const tag = `adm:{${account}}:`
  return [`${tag}account`, `${tag}use`, `${tag}leases`, `${tag}log`]
}

function compose(...parts: string[]): Script {
  return composeScript(LUA, parts)
}
