/**
 * `npm run size -- [checkout]`: lines of product code, and the product's files that one streamed chat runs through.
 * Another checkout, with its packages installed, is measured by the same rules.
 */

import { resolve } from 'node:path'
import { countLines } from './count-lines.ts'
import { traceChat } from './trace-chat.ts'

const root = resolve(process.argv[2] ?? '.')
const rooms = countLines(root)
let total = 0
for (const [room, { files, lines }] of rooms) {
  total += lines
  console.log(`${String(lines).padStart(7)} lines ${String(files).padStart(4)} files  ${room}`)
}
console.log(`${String(total).padStart(7)} lines in all\n\nStarting a cluster to follow one streamed chat …`)
const passed = await traceChat(root)
for (const file of passed) console.log(`  ${file}`)
console.log(`${passed.length} files run for one streamed chat`)
