/**
 * `/console`: the key console's built files, a folder of a few, read once into memory. Its pages have addresses of their own
 * (`/console/usage`), and the one HTML page serves all of them. Browsers keep files named by their content for ever, and
 * validate the page.
 */

import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import type { Request, Response } from 'express'
import type { ConsoleConfig } from '@gateway/contracts/console-config'
import { GatewayError } from '@gateway/contracts/errors'
import { etagOf, isHeld } from '../http/respond-cacheable.ts'
import type { ConsoleSettings, EdgeSettings } from '../config.ts'
import type { Handler } from '../http/handler.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'
const RETRY = 'no-cache'
const PAGE = 'index.html'
const NAMED_BY_CONTENT = 'assets/'

export function showConsole({ signIn }: EdgeSettings, { folder }: ConsoleSettings): Handler<'none'> {
  const headers = pageHeaders(signIn ? [signIn.issuer] : [])
  let reading: Promise<ConsoleFiles | null> | null = null
  async function files(): Promise<ConsoleFiles> {
    const found = await (reading ??= readConsoleFiles(folder))
    if (found) return found
    reading = null
    throw new GatewayError('NOT_FOUND', 'The console has not been built; npm start builds it')
  }

  return async (request, response) => {
    const path = [request.params['path'] ?? []].flat().join('/')
    const found = await files()
    // A name with an ending is a file's, which a page would only pretend to be.
    const file = path.includes('.') ? path : PAGE
    if (!found.has(file) || !typeOf(file)) throw new GatewayError('NOT_FOUND', `There is nothing at ${request.path}`)
    sendFile(request, response.set(headers), found, file)
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
    response.set('cache-control', RETRY).json(body)
  }
}

function sendFile(request: Request, response: Response, files: ConsoleFiles, path: string): void {
  const coding = CODINGS.find(({ name, suffix }) => files.has(path + suffix) && request.acceptsEncodings(name))
  const { body, etag } = files.get(path + (coding?.suffix ?? ''))!
  response.set({
    'content-type': typeOf(path)!,
    'cache-control': path.startsWith(NAMED_BY_CONTENT) ? FOR_EVER : RETRY,
    vary: 'accept-encoding',
    etag,
  })
  if (isHeld(request, etag)) return void response.status(304).end()
  if (coding) response.set('content-encoding', coding.name)
  response.end(body)
}

/**
 * The policy of the console's page: it runs its own scripts and styles, and connects to its own host and the given ones,
 * nothing else.
 *
 * `others`: the identity provider's address, and the gateway's where the page has a host of its own.
 */
export function pageHeaders(others: string[]): Record<string, string> {
  const reachable = ["'self'", ...others.map((url) => new URL(url).origin)].join(' ')
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'font-src': "'self'",
    'img-src': "'self'",
    'connect-src': reachable,
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  }
  return {
    'content-security-policy': Object.entries(policy)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    // The address holds the sign-in's code for a moment.
    'referrer-policy': 'no-referrer',
  }
}

/** By path below the console's address: `assets/index-1a2b3c4d.js`, and compressed `assets/index-1a2b3c4d.js.br`. */
type ConsoleFiles = ReadonlyMap<string, { body: Buffer; etag: string }>

/** The best first. */
const CODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const

const TYPES = new Map(
  Object.entries<string>({
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.svg': 'image/svg+xml',
    '.woff2': 'font/woff2',
    '.json': 'application/json',
    '.txt': 'text/plain; charset=utf-8',
  }),
)

/** Undefined: no file of that name is for browsers. */
export function typeOf(path: string): string | undefined {
  return TYPES.get(extname(path))
}

/** Null where nothing was built. */
export async function readConsoleFiles(folder: string): Promise<ConsoleFiles | null> {
  const files = new Map<string, { body: Buffer; etag: string }>()
  for (const path of await listFiles(folder)) {
    const body = await readFile(join(folder, path))
    files.set(path.split(sep).join('/'), { body, etag: etagOf(body) })
  }
  return files.has(PAGE) ? files : null
}

async function listFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
