/**
 * Brings a backend's images inline. An image behind an address is fetched from the backend's own origin only, of
 * bounded size, without following redirects. So a backend cannot make the gateway call anyone else. A request has one slot at
 * the backend, so it fetches one image at a time.
 */

import { BackendFault } from '../core/backend-fault.ts'
import type { JsonObject } from '@gateway/contracts/json'
import {
  checkPng,
  checkPngBase64,
  imageSources,
  invalid,
  withInlineImages,
  type ImageSource,
} from '../core/plain-response.ts'
import type { BackendClient } from './backend.ts'

const LARGEST_IMAGE_BYTES = 32 * 1024 * 1024
const DATA_URL_PREFIX = 'data:image/png;base64,'

/** More than a request can contain. */
const MOST_IMAGES = 10

/** Waits until so many bytes more of the response may be held; undefined where they may be at once. */
export type Reserve = (bytes: number) => Promise<void> | undefined

export interface Fetching {
  client: BackendClient
  /** The time that is left. */
  budgetMs(): number
  signal: AbortSignal
  reserve: Reserve
}

/** Checks every image. Returns null when all are inline already, else the response with all of them inline. */
export async function inlineImages(body: JsonObject, fetching: Fetching): Promise<JsonObject | null> {
  const sources = imageSources(body)
  if (sources.length > MOST_IMAGES) throw invalid(`${sources.length} images in one answer`)
  if (sources.every((source) => 'base64' in source)) {
    for (const { base64 } of sources) checkPngBase64(base64)
    return null
  }
  const images: string[] = []
  for (const source of sources) images.push(await base64Of(source, fetching))
  return withInlineImages(body, images)
}

async function base64Of(source: ImageSource, fetching: Fetching): Promise<string> {
  if ('base64' in source || source.url.startsWith(DATA_URL_PREFIX)) {
    const base64 = 'base64' in source ? source.base64 : source.url.slice(DATA_URL_PREFIX.length)
    checkPngBase64(base64)
    return base64
  }
  const image = await fetchImage(ownUrl(source.url, fetching.client.origin), fetching)
  checkPng(image)
  return image.toString('base64')
}

function ownUrl(text: string, origin: string): URL {
  const url = URL.parse(text, origin)
  if (url?.origin !== origin) throw invalid('an image lies outside the origin of its backend')
  return url
}

async function fetchImage(url: URL, { client, budgetMs, signal, reserve }: Fetching): Promise<Buffer> {
  signal.throwIfAborted()
  const exchange = client.fetchOwn(url, budgetMs())
  const stop = () => exchange.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const { status } = await exchange.response
    if (status !== 200) throw new BackendFault('invalid_answer', `an image answered with status ${status}`)
    return await exchange.readAll(LARGEST_IMAGE_BYTES, reserve)
  } finally {
    signal.removeEventListener('abort', stop)
    exchange.discard()
  }
}
