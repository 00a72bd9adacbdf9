import { spawnSync } from 'node:child_process'
import { open } from 'node:fs/promises'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLogger, type Logger } from './logger.ts'

const KEY = 'svc_k3yId001AccTag01abcdefghijklmnopqrstuvwxyz012345CRC123'
const JWT = 'eyJhbGciOiJSUzI1NiIs.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'

function capture(write: (logger: Logger) => void): { line: string; entry: Record<string, unknown> } {
  let line = ''
  write(createLogger({ service: 'edge', level: 'info', output: { write: (text) => void (line += text) } }))
  return { line, entry: line ? (JSON.parse(line) as Record<string, unknown>) : {} }
}

test('a line is one JSON object that says which service wrote it, when and how grave it is', () => {
  const { line, entry } = capture((logger) => logger.warn({ attempts: 2 }, 'backend ejected'))
  expect(line.endsWith('}\n')).toBe(true)
  expect(entry).toMatchObject({ level: 'warn', service: 'edge', attempts: 2, msg: 'backend ejected' })
  expect(new Date(String(entry.time)).toISOString()).toBe(entry.time)
})

test('a child carries its request id on every line', () => {
  const { entry } = capture((logger) => logger.child({ requestId: 'r-1' }).info('admitted'))
  expect(entry).toMatchObject({ requestId: 'r-1', msg: 'admitted' })
})

test('an entry below the level is not written', () => {
  expect(capture((logger) => logger.debug('noise')).line).toBe('')
})

describe('a credential never reaches the log', () => {
  test.each<[string, (logger: Logger) => void]>([
    ['as a field', (logger) => logger.info({ key: KEY, apiKey: KEY, token: JWT }, 'x')],
    ['as a nested field', (logger) => logger.info({ request: { headers: { Authorization: `Bearer ${KEY}` } } }, 'x')],
    ['in a list', (logger) => logger.info({ attempts: [{ headers: { 'x-api-key': KEY } }] }, 'x')],
    ['in a child', (logger) => logger.child({ key: KEY, from: `Bearer ${JWT}` }).info('x')],
    ['in the message', (logger) => logger.info(`refused ${KEY} and ${JWT}`)],
    ['in an error and its causes', (logger) => logger.error({ err: new Error(KEY, { cause: new Error(JWT) }) }, 'x')],
    ['in an error that is the first argument', (logger) => logger.error(Object.assign(new Error(KEY), { token: JWT }))],
    ['in an innocent field', (logger) => logger.info({ detail: `Authorization: Bearer ${KEY}`, note: JWT }, 'x')],
  ])('%s', (_, write) => {
    const { line } = capture(write)
    expect(line).not.toContain('AccTag01')
    expect(line).not.toContain('abcdefghijklmnopqrstuvwxyz')
    expect(line).not.toContain('eyJzdWIiOiJhbGljZSJ9')
  })

  test('as the password of an address; the host stays readable', () => {
    const { entry } = capture((logger) => logger.info({ url: 'postgres://gateway:hunter22@db:5432/gateway' }, 'x'))
    expect(entry.url).toBe('postgres://gateway:[withheld]@db:5432/gateway')
  })

  test('but its key id does, by which an operator looks it up', () => {
    expect(capture((logger) => logger.info(`refused ${KEY}`)).entry.msg).toBe('refused svc_k3yId001…')
  })
})

test('prompts and responses never reach the log, however deep', () => {
  const body = {
    messages: [{ role: 'user', content: 'my diagnosis' }],
    prompt: 'my diagnosis',
    input: ['my diagnosis'],
  }
  const refused = Object.assign(new Error('refused'), { details: { backendBody: 'my diagnosis' } })
  for (const fields of [{ body }, { job: { request: { ...body } } }, { err: refused }]) {
    const { line } = capture((logger) => logger.info(fields, 'x'))
    expect(line).not.toContain('diagnosis')
  }
})

test.each([
  'my diagnosis',
  '{"content": my diagnosis is that of many words, none of which is in quotes}',
  '["my diagnosis",x]',
])('the text that a parser could not read never reaches the log, though the parser quotes it: %s', (text) => {
  let unreadable: unknown
  try {
    JSON.parse(text)
  } catch (error) {
    unreadable = error
  }
  const { line, entry } = capture((logger) =>
    logger.error({ err: new Error('no event of a stream', { cause: unreadable }) }, 'x'),
  )
  expect(line).not.toContain('diagnosis')
  expect(entry.err).toMatchObject({
    cause: { type: 'SyntaxError', stack: expect.stringMatching(/is not valid JSON\n +at JSON\.parse/) },
  })
})

test('an error is written with its type, code, message, stack and causes', () => {
  const cause = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' })
  const { entry } = capture((logger) => logger.error({ err: new TypeError('no database', { cause }) }, 'x'))
  expect(entry.err).toMatchObject({
    type: 'TypeError',
    message: 'no database',
    stack: expect.stringContaining('logger.test.ts'),
    cause: { code: 'ECONNREFUSED', message: 'connect refused' },
  })
})

test('an error that is its own cause does not hang the log', () => {
  const error = new Error('loop')
  error.cause = error
  expect(capture((logger) => logger.error({ err: error }, 'x')).entry.msg).toBe('x')
})

test('every line stays valid JSON for every logged value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.dictionary(fc.string(), fc.jsonValue()), (message, fields) => {
      expect(() => capture((logger) => logger.info({ fields, message }, message))).not.toThrow()
    }),
  )
})

test('a process whose log cannot be written goes on, and ends as it wants', async () => {
  const full = await open('/dev/full', 'w')
  const program = `
    import { createLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)}
    const logger = createLogger({ service: 'test', level: 'info' })
    for (let line = 0; line < 20; line++) {
      logger.info({ line }, 'a line')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    process.stderr.write('it goes on')`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', full.fd, 'pipe'],
    encoding: 'utf8',
    timeout: 20_000,
  })
  await full.close()
  expect({ status, stderr }).toEqual({ status: 0, stderr: 'it goes on' })
})
