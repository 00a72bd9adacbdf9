/**
 * A client never reads a secret of a backend in that backend's words, for all that the backend may write.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sendJson } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver, startRouterUnderTest } from './router-under-test.ts'

const API_KEY = 'kq7-Zt0"xY\\é/42'
const HEADERS = { authorization: 'Basic dXNlcjpwYXNzd29yZA==', 'x-team-secret': 'tulip-orchard-9' }

describe("a refusal in the backend's words", () => {
  test('never holds its key, its headers or its address, however it writes them', async () => {
    let said = ''
    const a = await backend((response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(said)
    })
    const { host, hostname } = new URL(a.url)
    const secrets = [API_KEY, ...Object.values(HEADERS), 'dXNlcjpwYXNzd29yZA==', host, hostname, a.url]
    const under = await router(poolOver([a.url], { backend: { apiKey: API_KEY, headers: HEADERS } }))
    const word = fc.oneof(fc.constantFrom(...secrets), fc.constantFrom(...secrets.map(encodeURIComponent)), fc.string())
    const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(''))
    const body = fc.oneof(
      text.map((message) => ({ error: { message } })),
      text.map((error) => ({ error })),
      text.map((message) => ({ message })),
      fc.tuple(text, text, text).map(([key, value, message]) => ({ [key]: { [value]: [value] }, error: { message } })),
    )
    await fc.assert(
      fc.asyncProperty(body, fc.boolean(), async (value, escaped) => {
        const json = JSON.stringify(value)
        said = escaped ? escapeAll(json) : json
        const { failure } = await under.sendRequest()
        expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
        const reported = failure!.backendBody ?? ''
        for (const text of [reported, ...stringsIn(JSON.parse(reported || '{}'))])
          for (const secret of secrets) expect(text).not.toContain(secret)
      }),
      { numRuns: 300 },
    )
  })

  test('never holds them as the error of an only target, for a client of its own API and with every status', async () => {
    let said = ''
    let status = 400
    const a = await backend((response) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(said)
    })
    const { host, hostname } = new URL(a.url)
    const secrets = [API_KEY, ...Object.values(HEADERS), 'dXNlcjpwYXNzd29yZA==', host, hostname, a.url]
    const settings = { apiKey: API_KEY, headers: HEADERS, dialect: 'anthropic' }
    const word = fc.oneof(fc.constantFrom(...secrets), fc.constantFrom(...secrets.map(encodeURIComponent)), fc.string())
    const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(''))
    const body = fc.record({
      type: fc.constant('error'),
      error: fc
        .dictionary(text, text)
        .chain((more) => fc.record({ type: text, message: text, more: fc.constant(more) })),
      request_id: text,
    })
    await fc.assert(
      fc.asyncProperty(body, fc.boolean(), fc.constantFrom(400, 413, 429, 529), async (value, escaped, drawn) => {
        status = drawn
        const json = JSON.stringify(value)
        said = escaped ? escapeAll(json) : json
        // Its pauses and its health are another request's.
        await using under = await startRouterUnderTest(poolOver([a.url], { backend: settings }))
        const { failure } = await under.sendRequest({ dialect: 'messages', remainingMs: 1_000 })
        const reported = failure!.targetError?.body ?? ''
        for (const text of [JSON.stringify(failure), ...stringsIn(JSON.parse(reported || '{}'))])
          for (const secret of secrets) expect(text).not.toContain(secret)
      }),
      { numRuns: 100 },
    )
  })

  test.each([
    ['The key sk-proj-abcdEFGH1234 may not do this', 'The key [redacted] may not do this'],
    ['Incorrect key sk-ab****************wxYZ', 'Incorrect key [redacted]'],
    ['Not for AIzaSyA1234567890abcdefghijklmnopqrstu', 'Not for [redacted]'],
    ['Not for AKIAIOSFODNN7EXAMPLE', 'Not for [redacted]'],
    ['Sent: Bearer abc.def-123', 'Sent: [redacted]'],
    ['Organization org-Ab12Cd34Ef56 lacks it', 'Organization [redacted] lacks it'],
    ["Your organization 'Tulip Ltd' must be verified", 'Your organization [redacted] must be verified'],
    ['Project `proj_Ab12Cd34Ef56` is archived', 'Project [redacted] is archived'],
    ['connect to 10.1.2.3:8000 failed', 'connect to [redacted] failed'],
    ['connect to [fd00::1]:8000 failed', 'connect to [redacted] failed'],
    ['see http://gpu-7.internal:8000/docs for more', 'see [redacted] for more'],
    ['see gpu-7.cluster.local:8000', 'see [redacted]'],
    ['write to admin@tulip.example', 'write to [redacted]'],
    ['arn:aws:bedrock:us-east-1:123456789012:model/x is unknown', '[redacted] is unknown'],
    ['messages[3].role must be one of system, user', 'messages[3].role must be one of system, user'],
    ['Request req_011CcZCmicNryVqGrUyoPkXM: top_p 1.5 > 1.0', 'Request req_011CcZCmicNryVqGrUyoPkXM: top_p 1.5 > 1.0'],
  ])('%s', async (message, reported) => {
    const a = await backend((response) => sendJson(response, 400, { error: { message } }))
    const { failure } = await (await router(poolOver([a.url]))).sendRequest()
    expect(JSON.parse(failure!.backendBody!)).toEqual({ error: { message: reported } })
  })

  test('may repeat an address that the client itself wrote', async () => {
    const message = 'https://example.com/cat.png is no image'
    const a = await backend((response) => sendJson(response, 400, { error: { message } }))
    const body = {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/cat.png' } }] }],
    }
    const { failure } = await (await router(poolOver([a.url]))).sendRequest({}, body)
    expect(failure!.backendBody).toContain(message)
  })

  test('is short', async () => {
    const a = await backend((response) =>
      sendJson(response, 400, { detail: 'x'.repeat(40_000), error: { message: 'y'.repeat(20_000) } }),
    )
    const { failure } = await (await router(poolOver([a.url]))).sendRequest()
    expect(failure!.backendBody!.length).toBeLessThan(5_000)
    expect(failure!.backendBody).toContain('yyyy')
  })
})

const escapeAll = (json: string) =>
  json.replace(/[a-zA-Z0-9/]/g, (letter, at: number) =>
    json[at - 1] === '\\' || json[at - 1] === 'u'
      ? letter
      : isInString(json, at)
        ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
        : letter,
  )

/** True when the character stands in a string of the JSON text, and behind no backslash. */
function isInString(json: string, at: number): boolean {
  let inside = false
  for (let i = 0; i < at; i++) {
    if (json[i] === '\\') {
      i += json[i + 1] === 'u' ? 5 : 1
      if (i >= at) return false
    } else if (json[i] === '"') inside = !inside
  }
  return inside
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner)])
}
