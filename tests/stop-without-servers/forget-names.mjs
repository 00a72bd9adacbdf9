/**
 * Loaded into a service before its own code. Names are unknown from the moment when the file `NAMES_UNKNOWN` is there,
 * as in a cluster whose Services are deleted.
 */

import dns from 'node:dns'
import { existsSync } from 'node:fs'

const { lookup } = dns
dns.lookup = (name, ...rest) => {
  if (!existsSync(process.env.NAMES_UNKNOWN)) return lookup(name, ...rest)
  const reply = rest.at(-1)
  setImmediate(() => reply(new Error(`${name} is not known`)))
}
