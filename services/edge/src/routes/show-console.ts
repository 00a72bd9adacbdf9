/**
 * `/console`: the key console's built files. Its pages have addresses of their own (`/console/usage`), all of them
 * answered with the one HTML page; files named by their content are kept by browsers for ever, the page is asked for anew.
 */

import { createHash } from 'node:crypto'
import type { Request, RequestHandler, Response } from 'express'
import type { ConsoleConfig } from '@gateway/contracts/console-config'
import { GatewayError } from '@gateway/contracts/errors'
import type { ConsoleSettings } from '../config.ts'
import { pageHeaders } from '../console/page-headers.ts'
import { CODINGS, readConsoleFiles, type ConsoleFile, type ConsoleFiles } from '../console/read-console-files.ts'
import type { Edge } from '../edge.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'
const ASK_ANEW = 'no-cache'
const PAGE = 'index.html'

export function showConsole({ settings }: Edge, { folder }: ConsoleSettings): RequestHandler<{ path?: string[] }> {
  const headers = pageHeaders(settings.signIn?.issuer ?? null)
  let reading: Promise<ConsoleFiles | null> | null = null
  async function files(): Promise<ConsoleFiles> {
    const found = await (reading ??= readConsoleFiles(folder))
    if (found) return found
    reading = null
    throw new GatewayError('NOT_FOUND', 'The console has not been built; npm run build:console does that')
  }

  return async (request, response) => {
    const path = request.params.path?.join('/') ?? ''
    const found = await files()
    // A name with an ending is a file's, which a page would only pretend to be.
    const file = found.get(path) ?? (path.includes('.') ? undefined : found.get(PAGE))
    if (!file) throw new GatewayError('NOT_FOUND', `There is nothing at ${request.path}`)
    sendFile(request, response.set(headers), file)
  }
}

export function showConsoleConfig({ settings }: Edge, { url, clientId, scope }: ConsoleSettings): RequestHandler {
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
  const coding = Object.keys(CODINGS).find(
    (name) => file.bodies[name as keyof typeof CODINGS] && request.acceptsEncodings(name),
  ) as keyof typeof CODINGS | undefined
  response.set({ 'content-type': file.type, vary: 'accept-encoding' })
  response.set('cache-control', file.hashed ? FOR_EVER : ASK_ANEW)
  const body = (coding && file.bodies[coding]) ?? file.bodies.identity
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  response.set('etag', etag)
  if (request.get('if-none-match') === etag) return void response.status(304).end()
  if (coding) response.set('content-encoding', coding)
  response.end(request.method === 'HEAD' ? undefined : body)
}
