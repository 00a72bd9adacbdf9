/**
 * The log: one JSON object per line on stdout, which never holds a credential, a prompt or a response.
 *
 * It has two nets, because either alone has holes. It withholds fields by name at any depth, and searches every
 * finished line for shapes of keys, tokens and passwords in addresses. Errors are written as type, code, message, stack
 * and causes, never with their other properties, which may quote a request or a row.
 */

import { destination, pino, type DestinationStream, type Logger as PinoLogger } from 'pino'

export type Logger = PinoLogger

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

interface LoggerOptions {
  /** The process' job: `edge`, `router`, … */
  service: string
  level: LogLevel
  /** Where lines go; stdout without it. */
  output?: DestinationStream
}

/** A request's own lines come from `logger.child({ requestId })`. */
export function createLogger({ service, level, output }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: { service, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: withholdByName,
      },
      // Serializers also see a child's bindings, which formatters do not.
      serializers: { ...withheldFields, err: describeError, error: describeError, reason: describeError },
      hooks: { streamWrite: withholdByLook },
    },
    output ?? openStdout(),
  )
}

/** The most bytes of lines that are still to be written; lines beyond are dropped. */
const MOST_UNWRITTEN_BYTES = 16 * 1024 * 1024

/**
 * Asynchronous, so that a slow reader of the log never stops the event loop; written out when the process exits. A log
 * that cannot be written (a full disk, a terminal that is gone) ends nobody's requests.
 */
function openStdout(): DestinationStream {
  const stdout = destination({ dest: 1, sync: false, maxLength: MOST_UNWRITTEN_BYTES })
  let isFailing = false
  stdout.on('error', () => (isFailing = true))
  stdout.on('write', () => (isFailing = false))
  const { flushSync } = stdout
  // The library would try for ever to write the last lines, and the process would never end.
  stdout.flushSync = () => {
    if (!isFailing) flushSync.call(stdout)
  }
  return stdout
}

const WITHHELD = '[withheld]'

const credentialNames = [
  ...[
    'authorization',
    'proxy-authorization',
    'cookie',
    'set-cookie',
    'key',
    'apiKey',
    'x-api-key',
    'secret',
    'password',
  ],
  ...['masterSecret', 'KEYS_MASTER_SECRET', 'token', 'accessToken', 'idToken', 'refreshToken', 'deviceId', 'device_id'],
]
const contentNames = ['prompt', 'messages', 'content', 'input', 'body', 'answer', 'completion', 'backendBody']
const sensitiveNames = [...credentialNames, ...contentNames]

const plainName = (name: string) => name.replaceAll(/[-_]/g, '').toLowerCase()
const SENSITIVE = new Set(sensitiveNames.map(plainName))
const withheldFields = Object.fromEntries(sensitiveNames.map((name) => [name, () => WITHHELD]))

const MAX_DEPTH = 6

function withholdByName(fields: Record<string, unknown>): Record<string, unknown> {
  return withholdIn(fields, 0) as Record<string, unknown>
}

function withholdIn(value: unknown, depth: number): unknown {
  if (value === null || typeof value !== 'object') return value
  if (value instanceof Error) return depth === 0 ? value : describeError(value)
  if (depth > MAX_DEPTH) return WITHHELD
  if (Array.isArray(value)) return value.map((item) => withholdIn(item, depth + 1))
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      SENSITIVE.has(plainName(name)) ? WITHHELD : withholdIn(item, depth + 1),
    ]),
  )
}

function withholdByLook(line: string): string {
  return line
    .replaceAll(/(svc_[0-9A-Za-z]{8})[0-9A-Za-z]{8,}/g, '$1…')
    .replaceAll(/\b(Bearer|Basic) +[\w.~+/=-]{8,}/gi, `$1 ${WITHHELD}`)
    .replaceAll(/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, WITHHELD)
    .replaceAll(/\bsk-[\w-]{16,}/g, WITHHELD)
    .replaceAll(/(:\/\/[^:@/\s"]*):[^@/\s"]+@/g, `$1:${WITHHELD}@`)
}

interface DescribedError {
  type: string
  code?: string | number
  message: string
  stack?: string
  cause?: unknown
}

const MAX_CAUSES = 5

function describeError(error: unknown, causesLeft: number = MAX_CAUSES): unknown {
  if (!(error instanceof Error)) return withholdIn(error, 1)
  const described: DescribedError = { type: error.name, message: withoutQuotation(error.message) }
  if ('code' in error && (typeof error.code === 'string' || typeof error.code === 'number')) described.code = error.code
  if (error.stack) described.stack = withoutQuotation(error.stack)
  if (error.cause !== undefined && causesLeft > 0) described.cause = describeError(error.cause, causesLeft - 1)
  return described
}

/** V8 quotes the text that is no JSON, which may be a response's. */
function withoutQuotation(text: string): string {
  return text.replace(/Unexpected token .* is not valid JSON/s, 'The text is not valid JSON')
}
