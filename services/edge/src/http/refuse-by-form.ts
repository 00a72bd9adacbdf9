/**
 * Refuses requests by their form alone, before anything is read of them. It refuses those that have two readings, and those
 * of foreign web pages which come under a name that is not the gateway's.
 */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { GatewayError } from '@gateway/contracts/errors'
import type { Step } from './take-steps.ts'

/**
 * A form that Node's strict parser lets through, although a proxy in front may read it differently. The client, the target
 * and the end of the body must have one reading. The connection closes: the bytes behind may not be a request that their
 * sender meant.
 */
export const refuseAmbiguous: Step = (request, response, next) => {
  const ambiguity = ambiguityOf(request)
  if (ambiguity === null) return next()
  response.setHeader('connection', 'close')
  throw new GatewayError('VALIDATION_ERROR', ambiguity)
}

/** A request that wants its connection to become a WebSocket. */
export function offersWebSocket({ upgrade, connection }: IncomingHttpHeaders): boolean {
  return upgrade !== undefined && upgrade.toLowerCase() === 'websocket' && /\bupgrade\b/i.test(connection ?? '')
}

/**
 * The client of a WebSocket learns at once that there is none, and uses HTTP. Other offers are ignored, as RFC 9110 allows:
 * Java's client offers HTTP/2 with its first request. `paths`: those that serve WebSockets.
 */
export function refuseWebSockets(paths: readonly string[]): Step {
  return ({ url = '', headers }, _response, next) => {
    if (headers.upgrade === undefined || !offersWebSocket(headers) || paths.includes(url.split('?', 1)[0]!))
      return next()
    const sentence = `WebSocket is spoken at ${paths.join(', ')} alone; send this request over HTTP`
    throw new GatewayError('UPGRADE_REQUIRED', sentence, { upgrade: 'HTTP/1.1' })
  }
}

export type RequestForm = Pick<IncomingMessage, 'httpVersion' | 'url' | 'headers' | 'rawHeaders'>

/** Headers that name one thing each: repeated, each reader may choose another. No two are of the same length. */
const SINGLE = ['host', 'authorization', 'x-api-key', 'content-type', 'content-encoding', 'idempotency-key']
const SINGLE_BY_LENGTH: (string | undefined)[] = []
for (const name of SINGLE) SINGLE_BY_LENGTH[name.length] = name

/** A sentence for the client; null for nearly every request. */
export function ambiguityOf({ httpVersion, url = '', headers, rawHeaders }: RequestForm): string | null {
  const { host, 'transfer-encoding': transferEncoding } = headers
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'HTTP/1.1 is spoken here'
  if (transferEncoding !== undefined) {
    if (httpVersion === '1.0') return 'transfer-encoding: is not known to HTTP/1.0'
    if (transferEncoding.toLowerCase() !== 'chunked') return 'transfer-encoding: must be chunked alone'
  }
  const repeated = repeatedHeader(rawHeaders)
  if (repeated !== null) return `${repeated}: is given more than once`
  // A target with an authority of its own, as in a request to a proxy.
  const isAbsolute = !url.startsWith('/') && url !== '*'
  if (isAbsolute && URL.parse(url)?.host !== host?.toLowerCase()) return 'host: is not that of the request target'
  return null
}

function repeatedHeader(rawHeaders: readonly string[]): string | null {
  let seen = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const bit = bitOf(rawHeaders[index]!)
    if ((seen & bit) !== 0) return rawHeaders[index]!.toLowerCase()
    seen |= bit
  }
  return null
}

/** 0 for headers that may be repeated. The length alone identifies most headers, at no cost that could be measured. */
function bitOf(header: string): number {
  const name = SINGLE_BY_LENGTH[header.length]
  return name !== undefined && header.toLowerCase() === name ? 1 << header.length : 0
}

interface Addresses {
  publicBaseUrl: string
  port: number
  corsOrigins: string[]
}

/**
 * Keeps foreign web pages out of a gateway that has no name: one on a developer's machine, where guest keys need no sign-in.
 *
 * Such a page can have its own name resolve to 127.0.0.1 (DNS rebinding). Its browser then takes the gateway for the page's
 * own host, so CORS does not apply. Only a name can be rebound: addresses and `localhost` pass. So do requests without
 * `origin`: browsers send that header with every POST of a page.
 *
 * Returns no step where no page needs to be kept out.
 */
export function refuseReboundNames({ publicBaseUrl, port, corsOrigins }: Addresses): Step[] {
  const own = new URL(publicBaseUrl)
  if (isName(own.hostname) || corsOrigins.includes('*')) return []
  // Under another port, a proxy of this machine serves the page and passes its name on.
  const ports = new Set([portOf(own), String(port)])
  const keepOut: Step = ({ headers: { host, origin } }, _response, next) => {
    if (origin === undefined || corsOrigins.includes(origin)) return next()
    const url = URL.parse(`http://${host}`)
    if (url === null || !isName(url.hostname) || !ports.has(portOf(url))) return next()
    throw new GatewayError(
      'VALIDATION_ERROR',
      'host: is not a name of this gateway; PUBLIC_BASE_URL names the address that browsers use',
    )
  }
  return [keepOut]
}

function isName(hostname: string): boolean {
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
  return !isAddress && !/^(.+\.)?localhost$/.test(hostname)
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}
