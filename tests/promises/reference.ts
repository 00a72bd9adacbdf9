/**
 * Promises to readers of the API reference: every example on the page does as it says when it is run as printed.
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { describe, expect, test } from 'vitest'
import { dialectOfPath } from '../../services/edge/src/core/read-path.ts'
import type { Operation } from '../../services/edge/src/reference/api-reference.ts'
import { reference } from '../../services/edge/src/routes.ts'
import { type Gateway, newDeveloper, send, sendRaw } from './gateway.ts'

const run = promisify(execFile)

export function promiseReference(gateway: () => Gateway): void {
  describe('the API reference', () => {
    test('is a page and a document at the address of the gateway', async () => {
      const page = await sendRaw(gateway().urls[0], '/docs')
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      const stylesheet = /rel="stylesheet" href="([^"]+)"/.exec(await page.text())![1]!
      const styles = await sendRaw(gateway().urls[0], stylesheet)
      expect([styles.status, styles.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8'])
      const { status, body } = await send(gateway().urls[0], '/openapi.json')
      expect([status, body['openapi']]).toEqual([200, '3.1.0'])
    })

    const examples = reference.flatMap((operation) => operation.examples.map((example) => ({ operation, example })))
    test.each(examples)('$operation.method $operation.path: $example.name', async ({ operation, example }) => {
      const page = await (await sendRaw(gateway().urls[0], '/docs')).text()
      const command = commandOf(page, operation, example.name)
      const { key, token } = await newDeveloper(gateway())
      const reply = await runCommand(command, { SVC_KEY: key, SIGNIN_TOKEN: token })
      if (example.body?.['stream'] === true) expectStream(operation, reply)
      else expect(() => operation.responseSchema.parse(JSON.parse(reply))).not.toThrow()
    })
  })
}

/** As the page prints it under the operation. */
function commandOf(page: string, { id }: Operation, name: string): string {
  const section = page.slice(page.indexOf(`<section id="${id}">`))
  const figure = section.slice(section.indexOf(`<figcaption>${name}</figcaption>`))
  return unescape(/<code>([^]*?)<\/code>/.exec(figure)![1]!)
}

function unescape(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

/** In a shell, with a curl of our own where the machine has none. */
async function runCommand(command: string, variables: Record<string, string>): Promise<string> {
  const curl = `curl() { "$NODE" "$CURL" "$@"; }`
  const CURL = new URL('curl.ts', import.meta.url).pathname
  const env = { PATH: process.env['PATH'], NODE: process.execPath, CURL, ...variables }
  return (await run('sh', ['-c', `${curl}\n${command}`], { env })).stdout
}

function expectStream({ path, eventSchema }: Operation, reply: string): void {
  const dialect = dialectOfPath(path)
  const events = reply
    .trim()
    .split('\n\n')
    .map((event) => /^data: (.*)$/m.exec(event)![1]!)
  const { endsWithDone, namedEvents } = CLIENTS[dialect]
  if (endsWithDone) expect(events.pop()).toBe('[DONE]')
  if (namedEvents) expect(JSON.parse(events.at(-1)!)).toMatchObject({ type: namedEvents.terminal })
  expect(events.length).toBeGreaterThan(2)
  const parsed = events.map((event) => eventSchema!.parse(JSON.parse(event)))
  if (dialect === 'chat') expect(parsed.at(-1)).toMatchObject({ usage: { total_tokens: expect.any(Number) } })
}
