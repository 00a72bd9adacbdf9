/**
 * Faults of a backend that is a process of its own, over HTTP and from this machine only: `POST /_control/faults` sets one,
 * `DELETE` ends all.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Backend } from '../backend.ts'
import { readFault } from './faults.ts'
import { Refusal } from './refusal.ts'
import { parseBody, readBody, refuse, sendJson } from './serve.ts'

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/

/** Returns true when control has taken the request and responds to it. */
export function serveControl(req: IncomingMessage, res: ServerResponse, backend: () => Backend): boolean {
  if (req.url !== '/_control/faults') return false
  obey(req, backend())
    .then(() => sendJson(res, 200, '{}'))
    .catch((error: unknown) => refuse(res, error))
  return true
}

async function obey(req: IncomingMessage, backend: Backend): Promise<void> {
  if (!LOOPBACK.test(req.socket.remoteAddress ?? ''))
    throw new Refusal('Control is for this machine only.', { status: 403 })
  if (req.method === 'POST') backend.fail(readFault(parseBody(await readBody(req))))
  else if (req.method === 'DELETE') await backend.heal()
  else throw new Refusal(`Not allowed: ${req.method} ${req.url}.`, { status: 405 })
}
