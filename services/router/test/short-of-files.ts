/**
 * A router in a process of few files, for `shortage.test.ts`: it sends requests while it has none left, and again when
 * it has. Takes backends' addresses; prints one line of JSON.
 */

import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Logger } from '@gateway/telemetry/logger'
import { poolOver, startRouterUnderTest } from './router-under-test.ts'

const reported: string[] = []
const notify = (_: object, message: string) => void reported.push(message)
const logger = { debug() {}, info: notify, warn: notify, error: notify } as unknown as Logger
await using router = await startRouterUnderTest(poolOver(process.argv.slice(2)), {}, { logger })

const held: number[] = []
try {
  for (;;) held.push(openSync(devNull, 'r'))
} catch {
  // None is left.
}
const without = await router.sendRequest()
for (const file of held) closeSync(file)
const after = await router.sendRequest()

console.log(
  JSON.stringify({
    without: without.failure?.attempts,
    code: without.failure?.code,
    after: after.end?.attempts,
    reported,
  }),
)
