/**
 * Control of a backend that is a process of its own, over HTTP and from this machine only:
 *
 *   GET    /_control/calls?after=<number>   the log from there on
 *   DELETE /_control/calls                  forgets it
 *   GET    /_control/faults                 those that are set
 *   POST   /_control/faults                 sets one
 *   DELETE /_control/faults                 ends all
 *   POST   /_control/speed                  { tokensPerSecond, firstByteDelayMs }
 *   POST   /_control/refuse                 { forMs }: refuses connections for that long
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Backend } from '../backend.ts'
import { readFault } from './faults.ts'
import { errorBody, isCount, isNumber, isObject, type JsonObject, optional, Refusal, required } from './refusal.ts'
import { sendJson } from './serve.ts'

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/

/** True when the request was one of control's, and is being answered. */
export function serveControl(req: IncomingMessage, res: ServerResponse, backend: () => Backend): boolean {
  if (!req.url!.startsWith('/_control/')) return false
  if (!LOOPBACK.test(req.socket.remoteAddress ?? '')) {
    sendJson(res, 403, errorBody('Control is for this machine only.', 'invalid_request_error'))
    return true
  }
  answer(req, backend())
    .then((body) => sendJson(res, 200, JSON.stringify(body)))
    .catch((error: unknown) => {
      const status = error instanceof Refusal ? error.status : 500
      sendJson(res, status, errorBody(error instanceof Error ? error.message : String(error), 'invalid_request_error'))
    })
  return true
}

async function answer(req: IncomingMessage, backend: Backend): Promise<object> {
  const url = new URL(req.url!, 'http://control')
  switch (`${req.method} ${url.pathname}`) {
    case 'GET /_control/calls': {
      const after = Number(url.searchParams.get('after') ?? 0)
      return {
        calls: backend.calls.filter((call) => call.number > after).map(withoutSecrets),
        dropped: backend.dropped,
        running: backend.running,
      }
    }
    case 'DELETE /_control/calls':
      backend.forget()
      return {}
    case 'GET /_control/faults':
      return { faults: backend.faults }
    case 'POST /_control/faults':
      backend.fail(readFault(await readObject(req)))
      return { faults: backend.faults }
    case 'DELETE /_control/faults':
      await backend.heal()
      return {}
    case 'POST /_control/speed':
      backend.setSpeed(readSpeed(await readObject(req)))
      return {}
    case 'POST /_control/refuse': {
      const forMs = required(await readObject(req), 'forMs', 'a number of milliseconds', isCount)
      setTimeout(() => void backend.refuse(), 10)
      setTimeout(() => void backend.heal(), 10 + forMs)
      return { forMs }
    }
    default:
      throw new Refusal(`Unknown control: ${req.method} ${url.pathname}.`, { status: 404 })
  }
}

function readSpeed(body: JsonObject): { tokensPerSecond?: number; firstByteDelayMs?: number } {
  const tokensPerSecond = optional(body, 'tokensPerSecond', 'a number', isNumber)
  const firstByteDelayMs = optional(body, 'firstByteDelayMs', 'a number', isNumber)
  return {
    ...(tokensPerSecond === undefined ? {} : { tokensPerSecond }),
    ...(firstByteDelayMs === undefined ? {} : { firstByteDelayMs }),
  }
}

async function readObject(req: IncomingMessage): Promise<JsonObject> {
  const body = await json(req).catch((cause: unknown) => {
    throw new Refusal(`Not JSON: ${String(cause)}`)
  })
  if (!isObject(body)) throw new Refusal('Expected a JSON object.')
  return body
}

function withoutSecrets<T extends { headers: object }>(call: T): T {
  return { ...call, headers: { ...call.headers, authorization: undefined } }
}
