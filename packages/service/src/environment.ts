/**
 * The environment: each variable's meaning, form and default, spelled once, and the one way to read them.
 *
 * A service's `config.ts` picks its variables: `parseEnvironment(z.object({ PORT: variables.PORT, NATS_URL:
 * variables.NATS_URL }), process.env)`. An empty variable counts as one that is not set. A value never appears in an
 * error: it may be a secret.
 */

import { isIP, isIPv6 } from 'node:net'
import { CONSOLE_CLIENT_ID, CONSOLE_SCOPE, consoleScope } from '@gateway/contracts/console-config'
import { webhookSecret } from '@gateway/contracts/webhooks'
import { isSentinelAddress, readSentinelAddress } from '@gateway/redis/sentinel-address'
import * as z from 'zod'
import { logLevels } from '@gateway/telemetry/logger'
import { samplerNames } from '@gateway/telemetry/tracing'
import { readDecimalNumber, readInteger } from './plain-number.ts'

interface VariableProblem {
  variable: string
  message: string
}

export class EnvironmentError extends Error {
  readonly problems: VariableProblem[]

  constructor(problems: VariableProblem[]) {
    const lines = problems.map(({ variable, message }) => `  ${variable}  ${message}`)
    super(['The environment cannot be used:', ...lines].join('\n'))
    this.name = 'EnvironmentError'
    this.problems = problems
  }
}

/** The variables of `schema`, or an `EnvironmentError` with the remedy for each bad one. */
export function parseEnvironment<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  environment: NodeJS.ProcessEnv,
): z.infer<z.ZodObject<Shape>> {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))
  const parsed = schema.safeParse(set)
  if (parsed.success) return parsed.data
  throw new EnvironmentError(
    parsed.error.issues.map((issue) => {
      const variable = String(issue.path[0])
      const expected = schema.shape[variable] instanceof z.ZodType ? schema.shape[variable].description : undefined
      if (!(variable in set)) return { variable, message: `is not set; set it to ${expected ?? 'a value'}` }
      return {
        variable,
        message: `${issue.message.replace(/^Invalid input: /, '')}; set it to ${expected ?? 'another value'}`,
      }
    }),
  )
}

/** A variable: a form and, for errors and the documentation, its meaning. */
function variable<Schema extends z.ZodType>(schema: Schema, description: string): Schema {
  return schema.describe(description)
}

const integer = (min: number, max: number) => numberBy(readInteger, 'must be a whole number', min, max)
const decimal = (min: number, max: number) => numberBy(readDecimalNumber, 'must be a number', min, max)

function numberBy(read: (text: string) => number | null, form: string, min: number, max: number) {
  return z
    .string()
    .transform((text, { addIssue }) => {
      const number = read(text)
      if (number === null) addIssue(form)
      return number ?? z.NEVER
    })
    .pipe(z.number().min(min, `must be ${min} or more`).max(max, `must be ${max} or less`))
}

const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .transform((url) => url.replace(/(?<!\/)\/+$/, ''))

/** Its name and password in the address are a secret. */
const proxyUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' })

const serverUrl = (protocol: RegExp, forms: string) =>
  z.url({ protocol, hostname: /^.+$/, error: `must be a ${forms} address` })

const redisUrl = serverUrl(/^rediss?(-cluster)?$/, 'redis://')
const redisUrls = z.string().superRefine((urls, problems) => {
  if (!isSentinelAddress(urls)) {
    const isRedis = urls.split(',').every((url) => redisUrl.safeParse(url).success)
    if (!isRedis) problems.addIssue('must be a redis:// address')
    return
  }
  try {
    readSentinelAddress(urls)
  } catch (error) {
    problems.addIssue((error as Error).message)
  }
})

const natsUrl = serverUrl(/^(nats|tls|wss?)$/, 'nats://')
const natsUrls = z
  .string()
  .refine((urls) => urls.split(',').every((url) => natsUrl.safeParse(url).success), 'must be a nats:// address')

const port = integer(0, 65_535)

/** Words that people put where a secret belongs. */
const PLACEHOLDER_SECRET =
  /^(?:(?:change[-_ ]?me|secret|password|default|master|example|test|dev|insecure|x{3,}(?!x)|key)[-_ !0-9]*)+$/i

export const variables = {
  PORT: variable(port.default(8080), 'the port of the public HTTP address; 0 takes a free one'),
  HOST: variable(z.string().default('127.0.0.1'), 'the address to listen on; 0.0.0.0 for all'),
  HEALTH_PORT: variable(
    port.optional(),
    'the port of /healthz, /readyz and /metrics, which need no credentials; PORT + 1 when not set',
  ),
  HEALTH_HOST: variable(
    z.string().default('127.0.0.1'),
    'the address that HEALTH_PORT listens on; 0.0.0.0 for all, where only the platform can reach it',
  ),
  LOG_LEVEL: variable(z.enum(logLevels).default('info'), `one of ${logLevels.join(', ')}`),
  GATEWAY_CONFIG: variable(
    z.string().optional(),
    'the path of the config file; the default configuration when not set',
  ),
  NATS_URL: variable(
    natsUrls,
    'the NATS server, such as nats://127.0.0.1:4222, or several of one cluster, separated by commas',
  ),
  NATS_STREAM_REPLICAS: variable(
    integer(1, 5).default(1),
    'how many servers of a NATS cluster keep each newly created durable stream; 3 for a cluster of three',
  ),
  REDIS_URL: variable(
    redisUrls,
    'the Redis server, such as redis://127.0.0.1:6379; a Redis Cluster, as redis-cluster://endpoint:6379 or two or more nodes separated by commas; or redis-sentinel://a:26379,b:26379?sentinel-password=…#mymaster',
  ),
  DATABASE_URL: variable(
    serverUrl(/^postgres(ql)?$/, 'postgres://'),
    'the PostgreSQL database, such as postgres://gateway@127.0.0.1:5432/gateway',
  ),
  DRAIN_MS: variable(
    integer(0, 86_400_000).default(600_000),
    'how many milliseconds a stopping edge or router may take to finish open streams',
  ),
  STOP_NOTICE_MS: variable(
    integer(0, 600_000).default(0),
    'how many milliseconds a stopping edge says so on /readyz and still takes new connections, so that balancers look elsewhere',
  ),
  PUBLIC_BASE_URL: variable(
    httpUrl.optional(),
    'the address that clients use, without /v1; http://HOST:PORT (127.0.0.1 for all) when not set',
  ),
  DOCS_URL: variable(
    httpUrl.optional(),
    'the address of the documentation in rate limit errors; PUBLIC_BASE_URL/docs when not set',
  ),
  TOPUP_URL: variable(httpUrl.optional(), 'the address of the top-up page in quota errors; CONSOLE_URL when not set'),
  TOP_UP_SECRETS: variable(
    z
      .string()
      .transform((list) => list.split(',').map((secret) => secret.trim()))
      .pipe(z.array(webhookSecret).max(2, 'must be one secret, or two during a rotation'))
      .default([]),
    'the secret of the payment system that signs top-ups, 24 to 64 random bytes in Base64; two, separated by a comma, during a rotation; none when not set',
  ),
  CONSOLE_URL: variable(
    httpUrl.optional(),
    'the address of the key console; if it is elsewhere, the edge does not serve it and allows its calls; PUBLIC_BASE_URL/console when not set',
  ),
  CONSOLE_DIR: variable(
    z.string().optional(),
    'the folder of the built key console; services/console/dist when not set',
  ),
  CONSOLE_CLIENT_ID: variable(
    z.string().default(CONSOLE_CLIENT_ID),
    "the key console's client id at the identity provider",
  ),
  CONSOLE_SCOPE: variable(
    consoleScope.default(CONSOLE_SCOPE),
    'the scope that the key console requests at the identity provider',
  ),
  CORS_ORIGINS: variable(
    z
      .string()
      .transform((list) =>
        list
          .split(',')
          .map((origin) => origin.trim().replace(/\/$/, ''))
          .filter(Boolean),
      )
      .pipe(z.array(z.string().regex(/^(\*|https?:\/\/[^/\s,]+)$/, 'must be origins such as https://app.example.com')))
      .default([]),
    'the origins whose browser pages may call, separated by commas, or *; none when not set',
  ),
  TRUST_PROXY: variable(
    z.string().default('false').transform(parseTrustProxy),
    "the proxies in front of the edge in Express' syntax: true, false, a number of hops, or addresses separated by commas",
  ),
  EDGE_REPLICAS_MAX: variable(
    integer(1, 10_000).default(1),
    "the most edges that ever run at once, the autoscaler's maximum; while Redis is away, each takes this share of the rates and counts its running requests this many times",
  ),
  BYTES_IN_FLIGHT_MAX: variable(
    integer(64 * 1024 * 1024, Number.MAX_SAFE_INTEGER).optional(),
    "the most bytes of clients' bodies and unread responses that an edge holds, 67108864 or more; a quarter of the container's or machine's memory, at most half of Node's heap when not set",
  ),
  KEYS_MASTER_SECRET: variable(
    z
      .string()
      .min(32, 'must have 32 characters or more')
      .refine((secret) => !PLACEHOLDER_SECRET.test(secret) && new Set(secret).size >= 10, 'must be a random secret'),
    'a random secret of 32 characters or more that seals API keys at rest, such as the output of `openssl rand -base64 32`; two, separated by a comma, during a rotation',
  ),
  SMTP_URL: variable(
    z
      .url({ protocol: /^smtps?$/, hostname: /^.+$/, error: 'must be an smtp:// or smtps:// address' })
      .refine(
        (url) => senderOf(new URL(url)) !== null,
        'needs the sender, as ?from=gateway@example.com, where its name is no address of e-mail',
      )
      .optional(),
    'the mail server for spend alerts, such as smtps://name:password@mail.example.com/?from=gateway@example.com; none when not set',
  ),
  DATA_DIR: variable(z.string().default('./data'), 'the folder for data on disk'),
  AUTH_ISSUER: variable(
    z.url({ protocol: /^https?$/, error: 'must be an http or https address' }),
    'the OIDC issuer of sign-in tokens, exactly as in their `iss`',
  ),
  AUTH_AUDIENCE: variable(z.string().optional(), 'the audience of sign-in tokens; PUBLIC_BASE_URL when not set'),
  HTTPS_PROXY: variable(
    proxyUrl.optional(),
    'the proxy by which the router calls backends of https addresses, such as http://proxy.example:3128; for identity providers and machine identities set NODE_USE_ENV_PROXY=1, too; none when not set',
  ),
  HTTP_PROXY: variable(proxyUrl.optional(), 'the same for backends of http addresses; none when not set'),
  NO_PROXY: variable(
    z.string().optional(),
    'the hosts that need no proxy, separated by commas: names with all below them, addresses, networks such as 10.0.0.0/8, or *; the machine itself never needs one; none when not set',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    httpUrl.optional(),
    'the OTLP/HTTP address of the collector for traces, such as http://127.0.0.1:4318; no traces when not set',
  ),
  OTEL_TRACES_SAMPLER: variable(
    z.enum(samplerNames).default('parentbased_always_on'),
    "the choice of traced requests: always_on, always_off, traceidratio, or parentbased_ and one of them, which follows the client's traceparent",
  ),
  OTEL_TRACES_SAMPLER_ARG: variable(
    decimal(0, 1).default(1),
    'the share of requests that the ratio samplers trace, from 0 to 1',
  ),
} as const

/** The parameter `from` of SMTP_URL, or its name where that is an address of e-mail; null where there is neither. */
export function senderOf(server: URL): string | null {
  const from = server.searchParams.get('from') ?? decodeURIComponent(server.username)
  return z.email().safeParse(from).success ? from : null
}

function parseTrustProxy(text: string): boolean | number | string {
  if (text === 'true') return true
  if (text === 'false') return false
  return readInteger(text) ?? text
}

/** `HEALTH_PORT`, or the port after `PORT`. */
export function healthPort(environment: { PORT: number; HEALTH_PORT?: number | undefined }): number {
  if (environment.HEALTH_PORT !== undefined) return environment.HEALTH_PORT
  return environment.PORT === 0 ? 0 : environment.PORT + 1
}

export interface Addresses {
  publicBaseUrl: string
  docsUrl: string
  topupUrl: string
  consoleUrl: string
  audience: string
}

/** The addresses that the service names, each from its variable or from the public base address. */
export function addresses(environment: {
  HOST?: string | undefined
  PORT: number
  PUBLIC_BASE_URL?: string | undefined
  DOCS_URL?: string | undefined
  TOPUP_URL?: string | undefined
  CONSOLE_URL?: string | undefined
  AUTH_AUDIENCE?: string | undefined
}): Addresses {
  const publicBaseUrl = environment.PUBLIC_BASE_URL ?? `http://${hostIn(environment)}:${environment.PORT}`
  const consoleUrl = environment.CONSOLE_URL ?? `${publicBaseUrl}/console`
  return {
    publicBaseUrl,
    docsUrl: environment.DOCS_URL ?? `${publicBaseUrl}/docs`,
    topupUrl: environment.TOPUP_URL ?? consoleUrl,
    consoleUrl,
    audience: environment.AUTH_AUDIENCE ?? publicBaseUrl,
  }
}

/** The address that is listened on, as a URL has it; where that is every address, or a name, the usual one. */
function hostIn({ HOST = '' }: { HOST?: string | undefined }): string {
  const host = URL.parse(`http://${isIPv6(HOST) ? `[${HOST}]` : HOST}`)?.hostname
  return host === undefined || isIP(HOST) === 0 || host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host
}
