/** Writes `example.env` with a random value for each that is empty. Needs any Node. */

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

const example = readFileSync(new URL('example.env', import.meta.url), 'utf8')
// A letter first: NATS takes a value of digits alone for a number.
process.stdout.write(example.replaceAll(/^([A-Z_]+)=$/gm, (_, name) => `${name}=k${randomBytes(24).toString('hex')}`))
