/**
 * A server's description of itself, before any request that costs: its kind, its models and their sizes.
 */

import { isVendor, PLAIN, vendorByHost, VENDORS, type DialectName, type Vendor } from '@gateway/contracts/vendors'
import { isObject, objectsOf, type JsonObject } from '@gateway/contracts/json'
import { numberOf, textOf } from './dialect.ts'
import type { Server } from './server.ts'

export type ServerKind = Vendor

export interface ListedModel {
  id: string
  does: 'chat' | 'embeddings' | 'other'
  /** Null where the server does not report it. */
  parameters: number | null
  contextWindow: number | null
}

export interface ServerDescription {
  /** Null: a server that speaks the dialect, and nothing more is known. */
  kind: ServerKind | null
  models: ListedModel[]
  /** The number of responses that the server generates at once; null where it does not report that. */
  places: number | null
  /** The reason why there is no list. */
  error: string
}

/** A server's kind and name, by the `owned_by` of each model in its list. */
const OWNERS = new Map(
  Object.entries<{ kind: ServerKind; name: string }>({
    llamacpp: { kind: 'llama.cpp', name: 'llama.cpp' },
    vllm: { kind: 'vllm', name: 'vLLM' },
    sglang: { kind: 'sglang', name: 'SGLang' },
    library: { kind: 'ollama', name: 'Ollama' },
    organization_owner: { kind: 'lm-studio', name: 'LM Studio' },
  }),
)

/** Returns undefined for a list that says nothing of its server. */
export function ownerOf(listed: readonly JsonObject[]) {
  return OWNERS.get(textOf(listed[0]?.['owned_by']))
}

function kindByHost(url: string): ServerKind | null {
  const name = vendorByHost(url)
  return isVendor(name) ? name : null
}

export function dialectByHost(url: string): DialectName {
  const kind = kindByHost(url)
  return kind === null ? PLAIN.dialect : VENDORS[kind].dialect
}

export async function describeServer(server: Server): Promise<ServerDescription> {
  const { status, json, error } = await server.sendRequest('/models')
  const listed = isObject(json) ? objectsOf(json['data']) : []
  const kind = kindByHost(server.address.url) ?? ownerOf(listed)?.kind ?? null
  const models = listed.map(readModel).filter(({ id }) => id !== '')
  const said = status === 200 ? (models.length === 0 ? 'it lists no model' : '') : error || `it responded ${status}`
  const description: ServerDescription = { kind, models, places: null, error: said }
  const look = kind ? LOOKS[kind] : undefined
  return look && models.length > 0 ? look(server, description) : description
}

function readModel(model: JsonObject): ListedModel {
  const id = textOf(model['id']).replace(/^models\//, '')
  const meta = isObject(model['meta']) ? model['meta'] : {}
  const window = numberOf(model['max_model_len']) || numberOf(model['context_length']) || numberOf(meta['n_ctx'])
  return {
    id,
    does: byName(id),
    parameters: numberOf(meta['n_params']) || byNameSize(id),
    contextWindow: window || null,
  }
}

const EMBEDS = /embed|(^|[/-])(bge|gte|e5|minilm)(-|$)/i
const DOES_NOT_CHAT =
  /whisper|tts|audio|realtime|dall-e|image|imagen|veo|sora|moderation|transcri|rerank|babbage|davinci|computer-use|gpt-3.5-turbo-instruct|search|guard|aqa|deep-research/i

function byName(id: string): ListedModel['does'] {
  if (EMBEDS.test(id)) return 'embeddings'
  return DOES_NOT_CHAT.test(id) ? 'other' : 'chat'
}

/** `qwen3:4b`, `gemma-3-270m-it`. */
function byNameSize(id: string): number | null {
  const [, size, unit] = /(?:^|[^a-z\d.])(\d+(?:\.\d+)?)([bm])(?![a-z\d])/i.exec(id) ?? []
  return size === undefined ? null : Number(size) * (unit!.toLowerCase() === 'b' ? 1e9 : 1e6)
}

type Look = (server: Server, description: ServerDescription) => Promise<ServerDescription>

const LOOKS: Partial<Record<ServerKind, Look>> = { 'llama.cpp': lookAtLlamaCpp, 'lm-studio': lookAtLmStudio }

/** The address without the path of its version. */
export function rootOf(server: Server): string {
  return server.address.url.replace(/\/v\d+\/*$/, '')
}

/** `n_ctx` there is of one slot. */
async function lookAtLlamaCpp(server: Server, description: ServerDescription): Promise<ServerDescription> {
  const { json } = await server.sendRequest(`${rootOf(server)}/props`)
  if (!isObject(json)) return description
  const settings = isObject(json['default_generation_settings']) ? json['default_generation_settings'] : {}
  const contextWindow = numberOf(settings['n_ctx']) || null
  const models = description.models.map((model) => ({ ...model, contextWindow: contextWindow ?? model.contextWindow }))
  return { ...description, models, places: numberOf(json['total_slots']) || null }
}

const LM_STUDIO_TYPES = new Map(
  Object.entries<ListedModel['does']>({ llm: 'chat', vlm: 'chat', embeddings: 'embeddings' }),
)

async function lookAtLmStudio(server: Server, description: ServerDescription): Promise<ServerDescription> {
  const { json } = await server.sendRequest(`${rootOf(server)}/api/v0/models`)
  const listed = new Map((isObject(json) ? objectsOf(json['data']) : []).map((model) => [textOf(model['id']), model]))
  const models = description.models.map((model) => {
    const said = listed.get(model.id) ?? {}
    const window = numberOf(said['loaded_context_length']) || numberOf(said['max_context_length'])
    const does = LM_STUDIO_TYPES.get(textOf(said['type'])) ?? model.does
    return { ...model, does, contextWindow: window || model.contextWindow }
  })
  return { ...description, models }
}
