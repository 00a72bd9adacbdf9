/**
 * `/console`: the key console's built files. Its pages have addresses of their own (`/console/usage`), all of them
 * answered with the one HTML page; files named by their content are kept by browsers for ever, the page is asked for anew.
 */

import type { Request, Response } from 'express'
import type { ConsoleConfig } from '@gateway/contracts/console-config'
import { GatewayError } from '@gateway/contracts/errors'
import type { ConsoleSettings, EdgeSettings } from '../config.ts'
import { pageHeaders } from '../console/page-headers.ts'
import { CODINGS, readConsoleFiles, type ConsoleFile, type ConsoleFiles } from '../console/read-console-files.ts'
import type { Handler } from '../listen/route.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'
const ASK_ANEW = 'no-cache'
const PAGE = 'index.html'

export function showConsole({ signIn }: EdgeSettings, { folder }: ConsoleSettings): Handler<'none'> {
  const headers = pageHeaders(signIn ? [signIn.issuer] : [])
  let reading: Promise<ConsoleFiles | null> | null = null
  async function files(): Promise<ConsoleFiles> {
    const found = await (reading ??= readConsoleFiles(folder))
    if (found) return found
    reading = null
    throw new GatewayError('NOT_FOUND', 'The console has not been built; npm run build:console does that')
  }

  return async (request, response) => {
    const path = [request.params['path'] ?? []].flat().join('/')
    const found = await files()
    // A name with an ending is a file's, which a page would only pretend to be.
    const file = found.get(path) ?? (path.includes('.') ? undefined : found.get(PAGE))
    if (!file) throw new GatewayError('NOT_FOUND', `There is nothing at ${request.path}`)
    sendFile(request, response.set(headers), file)
  }
}

export function showConsoleConfig(settings: EdgeSettings, { url, clientId, scope }: ConsoleSettings): Handler<'none'> {
  const { signIn, docsUrl, publicBaseUrl } = settings
  const body: ConsoleConfig = {
    gatewayUrl: publicBaseUrl,
    consoleUrl: url,
    docsUrl,
    signIn: signIn && { issuer: signIn.issuer, audience: signIn.audience, clientId, scope },
  }
  return (_request, response) => {
    response.set('cache-control', ASK_ANEW).json(body)
  }
}

function sendFile(request: Request, response: Response, file: ConsoleFile): void {
  const codings = Object.keys(CODINGS) as (keyof typeof CODINGS)[]
  const coding = codings.find((name) => file.forms[name] && request.acceptsEncodings(name))
  const { body, etag } = (coding && file.forms[coding]) ?? file.forms.identity
  response.set({
    'content-type': file.type,
    'cache-control': file.hashed ? FOR_EVER : ASK_ANEW,
    vary: 'accept-encoding',
    etag,
  })
  if (request.get('if-none-match') === etag) return void response.status(304).end()
  if (coding) response.set('content-encoding', coding)
  response.end(body)
}
