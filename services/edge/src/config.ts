/**
 * The edge's settings: the one reader of its environment.
 */

import { resolve } from 'node:path'
import { addresses, EnvironmentError, parseEnvironment, variables } from '@gateway/service/environment'
import { processSettings, processVariables } from '@gateway/service/run-service'
import { tracingSettings, tracingVariables } from '@gateway/service/tracing-settings'
import * as z from 'zod'
import { clientNetwork } from './http/client-network.ts'

/** Settings of every mode. */
export interface EdgeSettings {
  host: string
  port: number
  /** The address that clients use. */
  publicBaseUrl: string
  docsUrl: string
  topupUrl: string
  /** Of the payment system: the current one, then the former one. None: nobody tops up by a signed call. */
  topUpSecrets: readonly string[]
  /** Whose pages may call from a browser. */
  corsOrigins: string[]
  trustProxy: boolean | number | string
  drainMs: number
  /** It states that it is stopping for this time before it takes no new connections. */
  stopNoticeMs: number
  /** The most edges that ever run at once. */
  edgesMax: number
  /** Of clients' bodies and unread responses; null: a part of the process' memory. */
  bytesInFlightMax: number | null
  /** The console's address, here or on a host of its own. */
  consoleUrl: string
  /** Null: the console has a host of its own. */
  console: ConsoleSettings | null
  /** Whose sign-in tokens are taken; null: none are. */
  signIn: { issuer: string; audience: string } | null
}

export interface ConsoleSettings {
  url: string
  /** Of the built files. */
  folder: string
  clientId: string
  scope: string
}

/** The path below the public address that the edge serves the console at. */
export const CONSOLE_PATH = '/console'
const BUILT_CONSOLE = resolve(import.meta.dirname, '../../console/dist')

const EDGE_VARIABLES = {
  PORT: variables.PORT,
  HOST: variables.HOST,
  PUBLIC_BASE_URL: variables.PUBLIC_BASE_URL,
  CONSOLE_URL: variables.CONSOLE_URL,
  CONSOLE_DIR: variables.CONSOLE_DIR,
  CONSOLE_CLIENT_ID: variables.CONSOLE_CLIENT_ID,
  CONSOLE_SCOPE: variables.CONSOLE_SCOPE,
  DOCS_URL: variables.DOCS_URL,
  TOPUP_URL: variables.TOPUP_URL,
  TOP_UP_SECRETS: variables.TOP_UP_SECRETS,
  CORS_ORIGINS: variables.CORS_ORIGINS,
  TRUST_PROXY: variables.TRUST_PROXY,
  DRAIN_MS: variables.DRAIN_MS,
  STOP_NOTICE_MS: variables.STOP_NOTICE_MS,
  EDGE_REPLICAS_MAX: variables.EDGE_REPLICAS_MAX,
  BYTES_IN_FLIGHT_MAX: variables.BYTES_IN_FLIGHT_MAX,
  AUTH_ISSUER: variables.AUTH_ISSUER.optional(),
  AUTH_AUDIENCE: variables.AUTH_AUDIENCE,
}

export function loadEdgeSettings(environment: NodeJS.ProcessEnv): EdgeSettings {
  const parsed = parseEnvironment(z.object(EDGE_VARIABLES), environment)
  const { publicBaseUrl, docsUrl, topupUrl, consoleUrl, audience } = addresses(parsed)
  refuseUnknownProxies(parsed.TRUST_PROXY)
  const servesConsole = consoleUrl === `${publicBaseUrl}${CONSOLE_PATH}`
  return {
    host: parsed.HOST,
    port: parsed.PORT,
    publicBaseUrl,
    docsUrl,
    topupUrl,
    topUpSecrets: parsed.TOP_UP_SECRETS,
    consoleUrl,
    corsOrigins: servesConsole ? parsed.CORS_ORIGINS : withOrigin(parsed.CORS_ORIGINS, consoleUrl),
    trustProxy: parsed.TRUST_PROXY,
    drainMs: parsed.DRAIN_MS,
    stopNoticeMs: parsed.STOP_NOTICE_MS,
    edgesMax: parsed.EDGE_REPLICAS_MAX,
    bytesInFlightMax: parsed.BYTES_IN_FLIGHT_MAX ?? null,
    console: servesConsole
      ? {
          url: consoleUrl,
          folder: resolve(parsed.CONSOLE_DIR ?? BUILT_CONSOLE),
          clientId: parsed.CONSOLE_CLIENT_ID,
          scope: parsed.CONSOLE_SCOPE,
        }
      : null,
    signIn: parsed.AUTH_ISSUER ? { issuer: parsed.AUTH_ISSUER, audience } : null,
  }
}

function refuseUnknownProxies(trustProxy: EdgeSettings['trustProxy']): void {
  try {
    clientNetwork(trustProxy)
  } catch {
    const message = `must name addresses or their ranges; set it to ${variables.TRUST_PROXY.description}`
    throw new EnvironmentError([{ variable: 'TRUST_PROXY', message }])
  }
}

/** A console elsewhere is a page of another origin. */
function withOrigin(origins: string[], consoleUrl: string): string[] {
  return origins.includes('*') ? origins : [...new Set([...origins, new URL(consoleUrl).origin])]
}

const PROCESS_VARIABLES = {
  ...processVariables,
  GATEWAY_CONFIG: variables.GATEWAY_CONFIG,
  REDIS_URL: variables.REDIS_URL,
  ...tracingVariables,
}

/** Additional settings of an edge in its own process: the addresses of its servers. */
export function loadProcessSettings(environment: NodeJS.ProcessEnv) {
  const parsed = parseEnvironment(z.object(PROCESS_VARIABLES), environment)
  return {
    edge: loadEdgeSettings(environment),
    ...processSettings(parsed),
    configPath: parsed.GATEWAY_CONFIG,
    redisUrl: parsed.REDIS_URL,
    tracing: tracingSettings(parsed),
  }
}
