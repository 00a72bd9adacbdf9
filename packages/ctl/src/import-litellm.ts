/**
 * A LiteLLM `config.yaml` as a file of this gateway, and a list of all in it that has no counterpart here. The import
 * takes each member that it knows out of a copy; the rest of the copy is the list. No key is ever copied: a key that
 * stands in the file becomes a variable.
 *
 * The fields are those of docs.litellm.ai/docs/proxy/configs and config_settings (2026-10-13).
 */

import { isObject, membersOf, objectsOf } from '@gateway/contracts/json'
import type { ConfigFileInput } from '@gateway/contracts/config'
import { VENDORS, type Vendor, type VendorSettings } from '@gateway/contracts/vendors'

type Json = Record<string, unknown>
type BackendInput = NonNullable<ConfigFileInput['backends']>[number]
type PoolInput = NonNullable<ConfigFileInput['pools']>[number]
type ModelInput = NonNullable<ConfigFileInput['models']>[number]
type ServedType = 'chat' | 'embeddings' | 'images'

export interface Imported {
  file: ConfigFileInput
  /** `model_list[0].litellm_params.rpm: 60`, one for each setting. */
  withoutCounterpart: string[]
  /** Points that an operator has to look at. */
  notes: string[]
}

interface Provider {
  vendor?: Vendor
  /** Null: the settings do not say where it is. */
  url(params: Json): string | null
  /** Its own name of a model, where LiteLLM writes another one. */
  modelOf?(model: string): string
}

const at = (url: string) => (params: Json) => text(params, 'api_base') ?? url
const withPath = (path: string, fallback?: string) => (params: Json) => {
  const base = text(params, 'api_base') ?? fallback
  if (base === undefined) return null
  return base.replace(/(?<!\/)\/+$/, '').endsWith(path) ? base : base.replace(/(?<!\/)\/+$/, '') + path
}

/** LiteLLM's names of vendors that have another one here. */
const OTHER_NAMES: Partial<Record<Vendor, string>> = {
  together: 'together_ai',
  fireworks: 'fireworks_ai',
  nvidia: 'nvidia_nim',
}

/** A vendor with an address of its own is imported by it, unless the file names another one. */
function hostedProviders(): Record<string, Provider> {
  const all = Object.entries(VENDORS) as [Vendor, VendorSettings][]
  return Object.fromEntries(
    all.flatMap(([vendor, { url }]) =>
      url === undefined ? [] : [[OTHER_NAMES[vendor] ?? vendor, { vendor, url: at(url) }]],
    ),
  )
}

/** LiteLLM writes `<provider>/<organisation>/<model>`, the vendor `<organisation>/<model>:<provider>` (docs.litellm.ai/docs/providers/huggingface, 2026-11). */
function ofHuggingface(model: string): string {
  const [, provider, name] = /^([^/]+)\/([^/]+\/[^/]+)$/.exec(model) ?? []
  return name === undefined ? model : `${name}:${provider}`
}

const PROVIDERS = new Map(
  Object.entries<Provider>({
    ...hostedProviders(),
    azure: { vendor: 'azure', url: withPath('/openai/v1') },
    anthropic: { vendor: 'anthropic', url: withPath('/v1', 'https://api.anthropic.com') },
    vertex_ai: { vendor: 'vertex', url: vertexUrl },
    bedrock: { vendor: 'bedrock', url: bedrockUrl },
    ollama: { vendor: 'ollama', url: withPath('/v1', 'http://127.0.0.1:11434') },
    ollama_chat: { vendor: 'ollama', url: withPath('/v1', 'http://127.0.0.1:11434') },
    hosted_vllm: { vendor: 'vllm', url: at('http://127.0.0.1:8000/v1') },
    lm_studio: { vendor: 'lm-studio', url: at('http://127.0.0.1:1234/v1') },
    huggingface: { vendor: 'huggingface', url: at(VENDORS.huggingface.url!), modelOf: ofHuggingface },
    deepinfra: { url: at('https://api.deepinfra.com/v1/openai') },
  }),
)

const TYPES = new Map(Object.entries<ServedType>({ chat: 'chat', embedding: 'embeddings', image_generation: 'images' }))

export function importLitellm(config: unknown): Imported {
  const rest = structuredClone(membersOf(config))
  const notes: string[] = []
  const backends: BackendInput[] = []
  const pools = new Map<string, PoolInput>()
  const models = new Map<string, ModelInput>()
  const importing: Importing = { backends, pools, models, notes, variables: new Map(), taken: variablesOf(rest) }
  for (const entry of objectsOf(rest.model_list)) importModel(entry, importing)
  addFallbacks(rest, pools, models)
  const left = leavesOf(rest)
  if (models.size > 0) notes.push('each model has multiplier 1: write its price, or `direct: true` with `rates`')
  const file = { extends: 'default' as const, backends, pools: [...pools.values()], models: [...models.values()] }
  return { file, withoutCounterpart: left, notes }
}

interface Importing {
  backends: BackendInput[]
  /** By the model's name: names may differ in letters that ids do not have. */
  pools: Map<string, PoolInput>
  models: Map<string, ModelInput>
  notes: string[]
  /** By the key that stands in the file: the variable that is to hold it. */
  variables: Map<string, string>
  /** Variables that hold something already. */
  taken: Set<string>
}

function importModel(entry: Json, importing: Importing): void {
  const { backends, pools, models, notes } = importing
  const { model_name: name, litellm_params: params, model_info: info = {} } = entry
  if (typeof name !== 'string' || name.includes('*') || !isObject(params) || !isObject(info)) return
  const requested = text(params, 'model') ?? ''
  const type = TYPES.get(text(info, 'mode') ?? 'chat')
  const provider = providerOf(requested, params)
  const known = PROVIDERS.get(provider)
  const url = known?.url(params) ?? null
  // An address with a password or a key in it is a secret.
  if (!known || url === null || /[?@]/.test(url) || type === undefined) {
    notes.push(`${name} (${requested}) is left out: its provider, address or mode is not known here`)
    return
  }
  for (const [holder, field] of [
    [entry, 'model_name'],
    [params, 'model'],
    [params, 'api_base'],
    [params, 'custom_llm_provider'],
    [info, 'mode'],
  ] as const)
    delete holder[field]
  const apiKey = keyOf(params, provider, importing)
  const backend = backendFor(backends, { provider, known, url, params, type, apiKey })
  const pool = pools.get(name) ?? { id: freeId(slug(name) || 'model', [...pools.values()]), targets: [] }
  pools.set(name, pool)
  const named = requested.startsWith(`${provider}/`) ? requested.slice(provider.length + 1) : requested
  const model = known.modelOf?.(named) ?? named
  pool.targets.push({ backend: backend.id, model, ...weightOf(params) })
  const maxOutputTokens = number(info, 'max_output_tokens')
  if (!models.has(name)) {
    models.set(name, { id: name, type, pool: pool.id, multiplier: 1, ...(maxOutputTokens ? { maxOutputTokens } : {}) })
  }
}

/** Empty where it is not certain: a key and prompts must not go to another vendor. */
function providerOf(requested: string, params: Json): string {
  const named = text(params, 'custom_llm_provider') ?? /^[^/]+(?=\/)/.exec(requested)?.[0]
  if (named !== undefined) return PROVIDERS.has(named) ? named : ''
  if (requested.startsWith('claude')) return 'anthropic'
  return /^(?:ft:|gpt|chatgpt|codex|o\d|text-embedding|dall-e)/.test(requested) ? 'openai' : ''
}

interface Found {
  provider: string
  known: Provider
  url: string
  params: Json
  type: ServedType
  apiKey: string | undefined
}

/** Members that do not distinguish backends: JSON leaves them out. */
const MERGED = { id: undefined, capabilities: undefined }

/** Entries with the same address, key and times are one backend. */
function backendFor(backends: BackendInput[], { provider, known, url, params, type, apiKey }: Found): BackendInput {
  const maxConcurrent = number(params, 'max_parallel_requests')
  const seconds = number(params, 'stream_timeout') ?? number(params, 'timeout')
  delete params.timeout
  const settings = {
    ...(known.vendor ? { vendor: known.vendor } : {}),
    url: variablesIn(url),
    ...(apiKey ? { apiKey } : {}),
    ...(seconds ? { timeouts: { firstByteMs: Math.round(seconds * 1_000) } } : {}),
    ...(maxConcurrent ? { maxConcurrent } : {}),
  }
  const same = backends.find(
    (other) => JSON.stringify({ ...other, ...MERGED }) === JSON.stringify({ ...settings, ...MERGED }),
  )
  const backend = same ?? { id: freeId(slug(provider), backends), ...settings, capabilities: [] }
  if (!same) backends.push(backend)
  const able = type === 'chat' ? (['chat', 'tools', 'vision'] as const) : ([type] as const)
  backend.capabilities = [...new Set([...(backend.capabilities ?? []), ...able])]
  return backend
}

function keyOf(params: Json, provider: string, { variables, taken, notes }: Importing): string | undefined {
  const key = text(params, 'api_key', 'delete')
  if (key === undefined) return undefined
  if (key.startsWith('os.environ/')) return variablesIn(key)
  const variable = variables.get(key) ?? freeName(`${provider.toUpperCase()}_API_KEY`, '_', taken)
  if (!variables.has(key)) {
    variables.set(key, variable)
    taken.add(variable)
    notes.push(`a key of ${provider} stands in the file: it is not copied, set ${variable} for the router`)
  }
  return `\${${variable}}`
}

function variablesOf(config: Json): Set<string> {
  return new Set([...JSON.stringify(config).matchAll(/os\.environ\/(\w+)/g)].map(([, name]) => name!))
}

function weightOf(params: Json): { weight?: number; priority?: number } {
  const weight = number(params, 'weight')
  const priority = number(params, 'order')
  return { ...(weight ? { weight } : {}), ...(priority ? { priority } : {}) }
}

/** `[{ a: [b, c] }]`: the targets of b and c serve a, too, when its own fail. */
function addFallbacks(rest: Json, pools: Map<string, PoolInput>, models: Map<string, ModelInput>): void {
  for (const section of [rest.litellm_settings, rest.router_settings].filter(isObject)) {
    for (const fallback of objectsOf(section.fallbacks)) {
      for (const [name, others] of Object.entries(fallback)) {
        const pool = pools.get(name)
        const known = Array.isArray(others) ? others.filter((other) => models.has(String(other))) : []
        if (!pool || !Array.isArray(others) || known.length < others.length) continue
        const own = Math.max(...pool.targets.map(({ priority }) => priority ?? 1))
        known.forEach((other, step) => {
          const targets = pools.get(String(other))!.targets
          pool.targets.push(...targets.map((target) => ({ ...target, priority: own + step + 1 })))
        })
        delete fallback[name]
      }
    }
  }
}

function vertexUrl(params: Json): string | null {
  const project = text(params, 'vertex_project', 'delete')
  const location = text(params, 'vertex_location', 'delete') ?? 'global'
  if (project === undefined) return null
  const host = location === 'global' ? 'aiplatform.googleapis.com' : `${location}-aiplatform.googleapis.com`
  return `https://${host}/v1/projects/${variablesIn(project)}/locations/${location}/endpoints/openapi`
}

function bedrockUrl(params: Json): string | null {
  const region = text(params, 'aws_region_name', 'delete')
  return region === undefined ? null : `https://bedrock-runtime.${variablesIn(region)}.amazonaws.com/openai/v1`
}

/** `os.environ/NAME` as `${NAME}`. */
function variablesIn(value: string): string {
  return value.replaceAll(/os\.environ\/(\w+)/g, '${$1}')
}

function text(holder: Json, field: string, then?: 'delete'): string | undefined {
  const value = holder[field]
  if (typeof value !== 'string' || value === '') return undefined
  if (then) delete holder[field]
  return value
}

function number(holder: Json, field: string): number | undefined {
  const value = holder[field]
  if (typeof value !== 'number' || value <= 0) return undefined
  delete holder[field]
  return value
}

function slug(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replace(/^[-_]+/, '')
    .slice(0, 60)
}

function freeId(base: string, others: readonly { id: string }[]): string {
  return freeName(base, '-', new Set(others.map(({ id }) => id)))
}

function freeName(base: string, joint: string, taken: ReadonlySet<string>): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}${joint}${count}`
    if (!taken.has(name)) return name
  }
}

/** Names of settings alone where a value may be a secret. */
const SECRET = /key|token|pass|secret|credential|auth|header|cookie|variables|url$/i

function leavesOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => leavesOf(item, `${path}[${index}]`))
  if (isObject(value)) {
    return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, path ? `${path}.${name}` : name))
  }
  const isSecret = typeof value === 'string' && (SECRET.test(path) || value.includes('://'))
  return [isSecret ? path : `${path}: ${JSON.stringify(value)}`]
}
