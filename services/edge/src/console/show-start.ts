/**
 * `GET /` and `HEAD /`: redirects a browser to the console, and lists the addresses for other clients. Tools use it as a probe.
 * `GET /api/hello` and `HEAD /api/hello`: the request by which Claude Code opens its connection.
 */

import type { EdgeSettings } from '../config.ts'
import type { Handler } from '../http/handler.ts'

export function showStart({ publicBaseUrl, docsUrl, consoleUrl }: EdgeSettings): Handler<'none'> {
  const addresses = { name: 'Model Gateway', api: `${publicBaseUrl}/v1`, docs: docsUrl, console: consoleUrl }
  return (request, response) => {
    response.vary('accept').set('cache-control', 'no-cache')
    // Browsers name HTML before anything else, and programs do not name it.
    if (request.accepts(['json', 'html']) === 'html') return response.redirect(consoleUrl)
    response.json(addresses)
  }
}

export const showHello: Handler<'none'> = (_request, response) => {
  response.set('cache-control', 'no-cache').json({ message: 'hello' })
}
