/**
 * The backends and pools of the running config, with this process's connections, its view of their health and its open
 * requests. A new config keeps all of that for backends that did not change. A removed backend finishes its open
 * requests, and gets no other. Where a new one takes its place at the same address, both share its slots.
 */

import { isDeepStrictEqual } from 'node:util'
import type { BackendConfig, GatewayConfig, PoolConfig } from '@gateway/contracts/config'
import type { JobHeader } from '@gateway/contracts/job'
import type { CompactionForm } from '@gateway/contracts/usage-event'
import type { BackendControl } from '@gateway/contracts/routers-api'
import { clientDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { resolveSecrets } from '@gateway/config/resolve-secrets'
import { openBackend, type BackendClient } from './clients/backend.ts'
import { openConnections, type Connections } from './clients/connections.ts'
import { readProxies } from './clients/proxies.ts'
import { secretsOf } from './core/redact.ts'
import { keyHeaders, openCredential } from './vendors/authentication.ts'
import type { Trouble } from './core/account-trouble.ts'
import { readsAttribution } from './core/attribution.ts'
import * as health from './core/backend-health.ts'
import type { FeatureMemory } from './core/feature-memory.ts'
import type { LearnedRejection } from './core/parameter-support.ts'
import { kindOfState, type ChatStateForm } from './core/reasoning-state.ts'
import { shareOfLimit, COMPLETE, type Share } from './core/share-limit.ts'
import { newRetryBudget, type RetryBudget } from './core/attempts.ts'
import { compactionRoute, dialectRoute, type DialectRoute } from './dialects/dialects.ts'
import { profileOf } from './vendors/index.ts'
import { meaningsOf, type Meanings } from './vendors/meanings.ts'
import { policiesFor, type ParameterPolicies } from './vendors/policies.ts'
import type { VendorProfile } from './vendors/profile.ts'

export interface Backend {
  config: BackendConfig
  /** The router's knowledge of its vendor. */
  profile: VendorProfile
  /** The meanings of its words, in errors and at the end of responses. */
  meanings: Meanings
  /** It is Anthropic's own API, which reads the attribution block of a prompt. */
  readsAttribution: boolean
  client: BackendClient
  /** Its secrets, which no client may read. */
  secrets(): readonly string[]
  /** The routes of clients of each dialect. */
  routes: Record<ClientDialect, BackendRoute>
  /** The same, where a model calls tools over the Responses API alone; undefined where the backend does not speak it. */
  toolRoutes: Record<ClientDialect, BackendRoute> | undefined
  /** The routes of requests to compact a conversation. */
  compactions: Record<CompactionForm, BackendRoute>
  health: health.Health
  /** An operator has taken it out. */
  control: BackendControl | undefined
  /** The state of each of its models, by name. All pools share it. */
  states: Map<string, TargetState>
  /** The start of the newest attempt that brought content, by `performance.now()`. */
  respondedFromMs: number
  capacity: Capacity
  /** The config has it no more. */
  isRetired: boolean
}

/** The requests at one server. They stay where a new config has another key or limit for it. */
export interface Capacity {
  outstanding: number
  /** The number of concurrent requests that this process may send to it: its share of the backend's limit. */
  slots: number
}

export interface BackendRoute extends DialectRoute {
  /** The client's request is translated, though the target speaks the client's dialect. */
  isTranslated?: boolean
  /** The headers of each call: the credential, and those that the backend's dialect and the config demand. */
  headers: Record<string, string>
}

export interface Target {
  /** `<backend>/<model>`: the key of affinity and health. */
  key: string
  backend: Backend
  model: string
  priority: number
  weight: number
  contextWindow: number | undefined
  /** The rules for parameters that its clients may send. */
  policies: ParameterPolicies
  /** The forms of reasoning state that clients of chat may have from other targets of its pool. */
  alienStates: readonly ChatStateForm[]
  /** The backend's state of this model. */
  state: TargetState
}

interface TargetState {
  health: health.Health
  /** The parameters that it has rejected in each dialect. */
  learned: Map<TargetDialect, LearnedRejection[]>
  /** The features of the Messages API that it has refused. */
  refusedFeatures: FeatureMemory
  trouble?: Trouble | undefined
}

export interface TargetPool {
  id: string
  affinity: PoolConfig['affinity']
  targets: Target[]
  retryBudget: RetryBudget
}

export interface BackendRegistry {
  pool(id: string): TargetPool | undefined
  pools(): Iterable<TargetPool>
  backends(): Iterable<Backend>
  /** Throws, and changes nothing, when a backend's secret is not in the environment. */
  apply(config: GatewayConfig): void
  /** Other routers came or left. */
  setShare(share: Share): void
  /** The backends that an operator has taken out, those of other configs too. */
  setControls(controls: ReadonlyMap<string, BackendControl>): void
  close(): Promise<void>
}

/** `connect` opens the connections to a backend. */
export function openBackendRegistry(
  environment: NodeJS.ProcessEnv,
  connect = connectionsIn(environment),
): BackendRegistry {
  let backends = new Map<string, Backend>()
  let pools = new Map<string, TargetPool>()
  const closing = new Set<Promise<void>>()
  let ownShare: Share = COMPLETE
  let operatorControls: ReadonlyMap<string, BackendControl> = new Map()

  function apply(config: GatewayConfig): void {
    const resolved = config.backends.map((entry) => resolveSecrets(entry, environment))
    const kept = new Map(resolved.map((entry) => [entry.id, keepOrOpen(entry)]))
    for (const backend of backends.values()) if (kept.get(backend.config.id) !== backend) retire(backend)
    backends = kept
    fitSlots()
    pools = new Map(config.pools.map((pool) => [pool.id, poolOf(pool, kept, pools.get(pool.id))]))
  }

  function keepOrOpen(config: BackendConfig): Backend {
    const running = backends.get(config.id)
    if (running && isDeepStrictEqual(running.config, config)) return running
    const profile = profileOf(config)
    const routes = routesOf(config, config.dialects)
    // The headers for all requests that are not conversations.
    const { headers } = routes.chat
    const credential = openCredential(config, environment)
    return {
      config,
      profile,
      meanings: meaningsOf(profile),
      readsAttribution: readsAttribution(config.url),
      client: openBackend(config, headers, connect(config), credential),
      secrets: () => secretsOf(config, credential?.secrets()),
      routes,
      toolRoutes: config.dialects.includes('responses') ? routesOf(config, ['responses']) : undefined,
      compactions: compactionsOf(config, profile.compacts === true),
      health: health.newHealth(),
      control: operatorControls.get(config.id),
      states: new Map(),
      respondedFromMs: -Infinity,
      capacity: running?.config.url === config.url ? running.capacity : { outstanding: 0, slots: 0 },
      isRetired: false,
    }
  }

  function fitSlots(): void {
    for (const { capacity, config } of backends.values())
      capacity.slots = shareOfLimit(config.maxConcurrent, config.id, ownShare)
  }

  function retire(backend: Backend): void {
    backend.isRetired = true
    const closed = backend.client.close().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  return {
    pool: (id) => pools.get(id),
    pools: () => pools.values(),
    backends: () => backends.values(),
    apply,
    setShare(share) {
      ownShare = share
      fitSlots()
    },
    setControls(controls) {
      operatorControls = controls
      for (const backend of backends.values()) backend.control = controls.get(backend.config.id)
    },
    async close() {
      for (const backend of backends.values()) retire(backend)
      await Promise.all(closing)
    },
  }
}

function connectionsIn(environment: NodeJS.ProcessEnv): (config: BackendConfig) => Connections {
  const proxyFor = readProxies(environment)
  return (config) => openConnections(config, proxyFor)
}

function routesOf(config: BackendConfig, spoken: readonly TargetDialect[]): Backend['routes'] {
  const routes = clientDialects.map((client) => [client, withHeaders(config, dialectRoute(client, spoken))] as const)
  return Object.fromEntries(routes) as Backend['routes']
}

function compactionsOf(config: BackendConfig, atVendor: boolean): Backend['compactions'] {
  const route = (form: CompactionForm) => withHeaders(config, compactionRoute(form, config.dialects, atVendor))
  return { endpoint: route('endpoint'), trigger: route('trigger') }
}

function withHeaders(config: BackendConfig, route: Omit<BackendRoute, 'headers'>): BackendRoute {
  const key = keyHeaders(config)
  const headers = { ...route.dialect.headers(key ? undefined : config.apiKey), ...key, ...config.headers }
  return { ...route, headers }
}

/** The way of the job's client to a target that is capable of the job. */
export function routeOf({ backend, model }: Target, header: JobHeader): BackendRoute {
  const { routes, toolRoutes = routes, compactions, profile } = backend
  if (header.compaction !== undefined) return compactions[header.compaction]
  const callsTools = header.kind === 'chat' && header.needs.includes('tools')
  return (callsTools && profile.callsToolsByResponses?.(model) ? toolRoutes : routes)[clientDialect(header)]
}

/** True if it gets the request in the dialect of the job's client. */
export function isNative(target: Target, header: JobHeader): boolean {
  const route = routeOf(target, header)
  return route.target === clientDialect(header) && route.isTranslated !== true
}

/** The kind of reasoning state that the router seals for the target; undefined where there is none. */
export function stateKindOf(target: Target, header: JobHeader): string | undefined {
  const { profile, config } = target.backend
  const dialect = routeOf(target, header).target
  if (dialect === 'chat' ? profile.reasoningState === undefined : isNative(target, header)) return undefined
  return header.kind === 'chat'
    ? kindOfState({ dialect, vendor: profile.name, backend: config.id, model: target.model })
    : undefined
}

export function clientDialect({ dialect = 'chat' }: JobHeader): ClientDialect {
  return dialect
}

function stateOf({ states }: Backend, model: string): TargetState {
  const state = states.get(model) ?? { health: health.newHealth(), learned: new Map(), refusedFeatures: new Map() }
  states.set(model, state)
  return state
}

function poolOf(config: PoolConfig, backends: Map<string, Backend>, former: TargetPool | undefined): TargetPool {
  const forms = new Set(config.targets.flatMap(({ backend }) => backends.get(backend)?.profile.reasoningState ?? []))
  const targets = config.targets.flatMap((entry): Target[] => {
    const backend = backends.get(entry.backend)
    if (!backend) return []
    const { model, priority, weight, contextWindow } = entry
    const key = `${backend.config.id}/${model}`
    const policies = policiesFor(backend.profile, model, backend.config)
    const alienStates = [...forms].filter((form) => form !== backend.profile.reasoningState)
    const state = stateOf(backend, model)
    return [{ key, backend, model, priority, weight, contextWindow, policies, alienStates, state }]
  })
  return { id: config.id, affinity: config.affinity, targets, retryBudget: former?.retryBudget ?? newRetryBudget() }
}

export function hasFreeSlotAt({ capacity: { slots } }: Backend): boolean {
  return slots > 0
}

export function isFull({ capacity: { outstanding, slots } }: Backend): boolean {
  return outstanding >= slots
}

/** Where it has no slot, one request at a time may still go that nobody else can serve: a limit is no reason to fail. */
export function isFullEvenSo({ capacity: { outstanding, slots } }: Backend): boolean {
  return outstanding >= Math.max(1, slots)
}

export function capableTargets({ targets }: TargetPool, header: JobHeader): Target[] {
  return targets.filter(({ backend }) => header.needs.every((need) => backend.config.capabilities.includes(need)))
}

/** The config and an operator let it have new requests, if only as the last resort. */
export function isOpen({ backend: { control, isRetired } }: Target): boolean {
  return control !== 'drained' && !isRetired
}

/** For the account; without one, for all. No traffic and no probe outweighs an operator. */
export function isUsable({ backend, state }: Target, nowMs: number, account?: string): boolean {
  if (backend.control !== undefined) return false
  return health.isUsable(backend.health, nowMs, account) && health.isUsable(state.health, nowMs, account)
}

export function isHalfOpen({ backend, state }: Target, account: string): boolean {
  return health.isHalfOpenFor(backend.health, account) || health.isHalfOpenFor(state.health, account)
}

/** Until the first of those that requested a pause is back; null where none did. */
export function coolsForMs(targets: readonly Target[], nowMs: number): number | null {
  const waits = targets.map(
    ({ backend, state }) => Math.max(backend.health.coolingUntilMs, state.health.coolingUntilMs) - nowMs,
  )
  const cooling = waits.filter((wait) => wait > 0)
  return cooling.length === 0 ? null : Math.min(...cooling)
}

/** When time alone makes it usable. */
export function usableFromMs({ backend, state }: Target, account: string): number {
  if (backend.control !== undefined) return Infinity
  return Math.max(health.usableFromMs(backend.health, account), health.usableFromMs(state.health, account))
}
