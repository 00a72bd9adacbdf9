/**
 * Image generation: a picture of the requested size, drawn from the prompt. As real servers do, it returns an address for
 * `response_format: url`, and no PNG for another `output_format`.
 */

import { drawPng } from './png.ts'
import { isCount, isString, type JsonObject, optional, Refusal, required } from './refusal.ts'
import { remember } from './seeded.ts'
import { countTokens } from './tokens.ts'

const MAX_SIDE = 4096
const MAX_IMAGES = 10
/** Side of the square that one output token stands for. */
const TOKEN_SIDE = 32

export interface ImagesUsage {
  input_tokens: number
  output_tokens: number
  total_tokens: number
  input_tokens_details: { text_tokens: number; image_tokens: number }
}

export interface ImagesShape {
  usage: boolean
  /** The backend's own, for an image's address. */
  origin: string
}

export async function buildImagesResponse(
  body: JsonObject,
  shape: ImagesShape,
): Promise<{ json: string; usage: ImagesUsage }> {
  const prompt = required(body, 'prompt', 'a string', isString)
  const count = optional(body, 'n', 'an integer of at least 1', isCount) ?? 1
  if (count > MAX_IMAGES) throw new Refusal(`Invalid 'n': at most ${MAX_IMAGES}.`, { param: 'n' })
  const size = readSize(optional(body, 'size', 'a string', isString))
  const byUrl = body['response_format'] === 'url'
  const isPng = ['png', undefined].includes(optional(body, 'output_format', 'a string', isString))
  const images = Array.from(
    { length: count },
    (_, index) => `${size.width}x${size.height}:${index === 0 ? '' : index}${prompt}`,
  )
  const data = await Promise.all(
    images.map(async (key) => (byUrl ? addressOf(key, shape.origin) : await writeImage(key, isPng))),
  )
  const inputTokens = countTokens(prompt)
  const outputTokens = count * Math.ceil(size.width / TOKEN_SIDE) * Math.ceil(size.height / TOKEN_SIDE)
  const usage = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_details: { text_tokens: inputTokens, image_tokens: 0 },
  }
  const tail = shape.usage ? `,"usage":${JSON.stringify(usage)}` : ''
  return { json: `{"created":${Math.floor(Date.now() / 1000)},"data":[${data.join(',')}]${tail}}`, usage }
}

/** The image behind a URL that a response gave. */
export function imageAt(path: string): Promise<Buffer> | null {
  const key = /^\/images\/([\w-]+)\.png$/.exec(path)?.[1]
  return key === undefined ? null : draw(Buffer.from(key, 'base64url').toString())
}

function addressOf(key: string, origin: string): string {
  return JSON.stringify({ url: `${origin}/images/${Buffer.from(key).toString('base64url')}.png` })
}

async function writeImage(key: string, isPng: boolean): Promise<string> {
  const image = isPng ? await draw(key) : Buffer.from('GIF89a, for any format but PNG')
  return `{"b64_json":"${image.toString('base64')}"}`
}

/** The key holds the size and the text that the picture is drawn from. */
const draw = remember(32, (key: string) => {
  const { width, height } = readSize(key.slice(0, key.indexOf(':')))
  return drawPng(width, height, key.slice(key.indexOf(':') + 1))
})

function readSize(text = '1024x1024'): { width: number; height: number } {
  const match = /^(\d{1,4})x(\d{1,4})$/.exec(text === 'auto' ? '1024x1024' : text)
  const [width, height] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)]
  if (width < 1 || height < 1 || width > MAX_SIDE || height > MAX_SIDE) {
    throw new Refusal(`Invalid 'size': ${text}.`, { param: 'size', code: 'invalid_value' })
  }
  return { width, height }
}
