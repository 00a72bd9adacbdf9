/**
 * Whether a request is as its vendor describes requests: JSON schemas from the vendor's own SDK or source
 * (`npm run write schemas`). A vendor that publishes no description, and calls its address OpenAI's, is held to OpenAI's.
 */

import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import type { Vendor } from '@gateway/contracts/vendors'

/** Of chats, and of embeddings where the vendor has them. */
const OPENAI = ['openai', 'openai-embeddings'] as const
const DESCRIPTIONS: Record<Vendor, readonly [string, string?]> = {
  openai: OPENAI,
  azure: OPENAI,
  anthropic: ['anthropic'],
  gemini: OPENAI,
  vertex: ['vertex', 'openai-embeddings'],
  bedrock: OPENAI,
  openrouter: ['openrouter', 'openai-embeddings'],
  vllm: ['vllm', 'openai-embeddings'],
  sglang: ['sglang', 'openai-embeddings'],
  'llama.cpp': ['llama-cpp', 'openai-embeddings'],
  ollama: ['ollama', 'ollama-embeddings'],
  'lm-studio': OPENAI,
}

/**
 * What a vendor still takes beside its description. The SDK's types name no sampling since Claude Opus 4.7 refuses it
 * (rocketride-org/rocketride-server#1194, 2026-06-09); the models before it take it: assumed.
 */
const BESIDE: Partial<Record<Vendor, readonly string[]>> = {
  anthropic: ['temperature', 'top_p', 'top_k'],
  // lmstudio.ai/docs/app/api/endpoints/openai, read in November 2026.
  'lm-studio': ['top_k', 'min_p', 'repeat_penalty'],
}

interface Description {
  source: string
  readOn: string
  schema: { properties?: object }
}

const ajv = new Ajv({ strict: false, allErrors: false, discriminator: false })
const compiled = new Map<string, ValidateFunction>()

function describe(name: string): Description {
  return JSON.parse(readFileSync(new URL(`schemas/${name}.json`, import.meta.url), 'utf8')) as Description
}

/** Where the description of the vendor's chats is from. */
export function sourceOf(vendor: Vendor): string {
  const { source, readOn } = describe(DESCRIPTIONS[vendor][0])
  return `${source}, ${readOn}`
}

/** Of the vendor's chats. */
export function membersOf(vendor: Vendor): string[] {
  return Object.keys(describe(DESCRIPTIONS[vendor][0]).schema.properties ?? {})
}

/** Null where the request is as described. */
export function violationOf(vendor: Vendor, path: string, request: object): string | null {
  const beside = BESIDE[vendor] ?? []
  const body = Object.fromEntries(Object.entries(request).filter(([name]) => !beside.includes(name)))
  const [chat, embeddings] = DESCRIPTIONS[vendor]
  const name = path.endsWith('/embeddings') ? embeddings : chat
  if (name === undefined) return `${vendor} has no ${path}`
  const validate = compiled.get(name) ?? ajv.compile(describe(name).schema)
  compiled.set(name, validate)
  if (validate(body)) return null
  const errors = validate.errors!.filter(({ keyword }) => keyword !== 'anyOf')
  const extra = errors.find(({ instancePath, keyword }) => instancePath === '' && keyword === 'additionalProperties')
  const { instancePath, message, params } =
    extra ?? errors.toSorted((a, b) => b.instancePath.length - a.instancePath.length)[0]!
  return `${instancePath || '/'} ${message}: ${JSON.stringify(params)}`
}
