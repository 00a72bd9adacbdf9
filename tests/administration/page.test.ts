import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listSdkCalls, fateOf } from './sdk-calls.ts'
import { writeCalls, writeScript } from './write-page.ts'

const PAGE = join(import.meta.dirname, '../../docs/administration.md')

test('the page on administration has the script that a test runs, and the table of calls; -u writes both', async () => {
  const calls = `<!-- calls: written by \`npm test -- tests/administration/page.test.ts -u\` -->\n${await writeCalls()}\n<!-- /calls -->`
  const written = readFileSync(PAGE, 'utf8')
    .replace(/```js\n[^]*?```/, () => writeScript())
    .replace(/<!-- calls: [^]*<!-- \/calls -->/, () => calls)
  await expect(written).toMatchFileSnapshot(PAGE)
})

test('each call of the SDK is a row of the table, or has a replacement', async () => {
  const unknown = (await listSdkCalls()).filter((call) => fateOf(call).kind === 'unknown')
  expect(unknown.map(({ name }) => name)).toEqual([])
})

test('the script has at most 30 lines', () => {
  expect(writeScript().split('\n').length - 2).toBeLessThanOrEqual(30)
})
