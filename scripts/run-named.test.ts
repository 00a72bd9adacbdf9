import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = (script: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, [join(import.meta.dirname, script), ...args])

test.each([
  [
    '../dev/proofs/main.ts',
    'usage: npm run prove <contract | backends | open-responses | agents | clients | release | compose | kubernetes>',
  ],
  ['write.ts', 'usage: npm run write <deploy | schemas>'],
])('%s without a known name says which names there are', async (script, usage) => {
  for (const args of [[], ['constructor']])
    await expect(run(script, ...args)).rejects.toMatchObject({ code: 2, stderr: `${usage}\n` })
})
