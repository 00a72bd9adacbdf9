/**
 * Loaded into routers: a body with the words of the test blocks the event loop as a defect in a translation would. Each
 * stall leaves a line in the file that STALLS names.
 */

import { appendFileSync } from 'node:fs'

const STALL_MS = 6_000
const parse = JSON.parse

if (process.argv.some((word) => /services\/router\//.test(word))) {
  JSON.parse = (text, ...more) => {
    if (typeof text === 'string' && text.includes('stall the router')) {
      appendFileSync(process.env.STALLS, `${process.pid}\n`)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS)
    }
    return parse(text, ...more)
  }
}
