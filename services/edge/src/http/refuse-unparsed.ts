/**
 * Refuses bytes that Node's parser cannot read as a request of HTTP/1.1, with a body that says why. No step sees them: there
 * is no request. Nothing is written into a response that is on its way on the same connection.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { STATUS_CODES } from 'node:http'
import { v7 as uuidv7 } from 'uuid'
import type { GatewayConfig } from '@gateway/contracts/config'
import type { ErrorLinks } from '@gateway/contracts/error-bodies'
import { ERROR_STATUS, type PublicError } from '@gateway/contracts/errors'
import { renderError } from '@gateway/contracts/render-error'
import { readsNested } from '../core/error-readers.ts'
import { dialectOf } from '../core/read-path.ts'
import type { ErrorSettings } from './send-error.ts'

/** Node's error, with the bytes that it could not read. */
export type UnparsedError = Error & { code?: string; rawPacket?: Buffer }
export type RefuseUnparsed = (error: UnparsedError, socket: Socket) => void

/** A client may still be sending: the response is lost where its bytes meet a closed connection. */
const LINGER_MS = 1_000

export function refuseUnparsed({ settings, config }: Pick<ErrorSettings, 'settings' | 'config'>): RefuseUnparsed {
  return (error, socket) => {
    if (!socket.writable || isResponding(socket)) return void socket.destroy(error)
    const bytes = error.code === HTTP_2 ? HTTP_1_1_REQUIRED : refusalOf(error, settings, config.current.errors)
    socket.end(bytes)
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}

/** Node checks the same before its own response to such bytes (`socketOnError` in its `_http_server.js`). */
function isResponding(socket: Socket & { _httpMessage?: { headersSent: boolean } | null }): boolean {
  return socket._httpMessage?.headersSent ?? false
}

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'
const LONG_HEADERS = 'HPE_HEADER_OVERFLOW'
const HTTP_2 = 'HPE_PAUSED_H2_UPGRADE'

function refusalOf({ code, rawPacket }: UnparsedError, links: ErrorLinks, shape: GatewayConfig['errors']): string {
  const { target, headers } = linesOf(rawPacket)
  const requestId = uuidv7()
  const refusal = sayingWhy(code)
  const reader = { dialect: dialectOf(target, headers), isNested: readsNested(headers, shape), requestId }
  const { body, headers: ofError } = renderError(refusal, links, reader)
  const status = code === LONG_HEADERS ? 431 : ERROR_STATUS[refusal.code]
  const lines = Object.entries({
    ...ofError,
    'x-request-id': requestId,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}

function sayingWhy(code: string | undefined): PublicError {
  if (code === TIMEOUT) return { code: 'CLIENT_TIMEOUT', message: 'The request did not arrive in time', details: {} }
  const message =
    code === LONG_HEADERS ? 'The headers are too long; send less than 16 KB' : 'This is no valid request of HTTP/1.1'
  return { code: 'VALIDATION_ERROR', message, details: {} }
}

/** As far as they are there: the path and the headers that name the client. */
function linesOf(packet: Buffer | undefined): { target: string | undefined; headers: IncomingHttpHeaders } {
  const [request = '', ...lines] = (packet?.toString('latin1', 0, LONGEST_READ) ?? '').split('\r\n')
  const headers = lines.flatMap((line) => {
    const at = line.indexOf(':')
    return at < 0 ? [] : [[line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const]
  })
  return { target: request.split(' ', 2)[1], headers: Object.fromEntries(headers) }
}

const LONGEST_READ = 16_384

const SETTINGS = 4
const GOAWAY = 7
/** RFC 9113, section 7. */
const CODE_HTTP_1_1_REQUIRED = 0x0d

/** A response in HTTP/2: empty settings, and a farewell whose words every client shows or logs. */
const HTTP_1_1_REQUIRED = Buffer.concat([
  frame(SETTINGS, Buffer.alloc(0)),
  frame(GOAWAY, farewell('This gateway speaks HTTP/1.1; set the client to it, or put a proxy in front for HTTP/2')),
])

function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  return Buffer.concat([head, payload])
}

/** No stream was begun. */
function farewell(words: string): Buffer {
  const codes = Buffer.alloc(8)
  codes.writeUInt32BE(CODE_HTTP_1_1_REQUIRED, 4)
  return Buffer.concat([codes, Buffer.from(words)])
}
