import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { addresses, EnvironmentError, healthPort, parseEnvironment, variables } from './environment.ts'

type Name = keyof typeof variables

const read = (name: Name, value: string | undefined) =>
  (parseEnvironment(z.object({ [name]: variables[name] }), { [name]: value }) as Record<string, unknown>)[name]

const RANDOM = Buffer.from('a secret of 32 random-like bytes').toString('base64')
const SECRET = 'q7Jm2vX9rT4wB8nK1sY6dF3gH5zL0pCe'

describe('a variable', () => {
  test.each<[Name, string, unknown]>([
    ['PORT', '9000', 9000],
    ['PORT', '0', 0],
    ['HEALTH_PORT', '9001', 9001],
    ['LOG_LEVEL', 'debug', 'debug'],
    ['NATS_URL', 'nats://a:b@nats:4222', 'nats://a:b@nats:4222'],
    ['NATS_URL', 'tls://nats:4222', 'tls://nats:4222'],
    ['NATS_URL', 'nats://a:b@n1:4222,nats://n2:4222', 'nats://a:b@n1:4222,nats://n2:4222'],
    ['REDIS_URL', 'rediss://redis:6380/1', 'rediss://redis:6380/1'],
    ['REDIS_URL', 'redis://a:6379,redis://b:6379', 'redis://a:6379,redis://b:6379'],
    ['REDIS_URL', 'rediss-cluster://endpoint:6379', 'rediss-cluster://endpoint:6379'],
    ['REDIS_URL', 'redis-sentinel://:pw@a:26379,b:26379#main', 'redis-sentinel://:pw@a:26379,b:26379#main'],
    ['DATABASE_URL', 'postgresql://gateway@db/gateway', 'postgresql://gateway@db/gateway'],
    ['DRAIN_MS', '0', 0],
    ['STOP_NOTICE_MS', '5000', 5000],
    ['NATS_STREAM_REPLICAS', '3', 3],
    ['HEALTH_HOST', '0.0.0.0', '0.0.0.0'],
    ['PUBLIC_BASE_URL', 'https://ai.example.com/', 'https://ai.example.com'],
    ['CORS_ORIGINS', 'https://a.example, http://localhost:3000/', ['https://a.example', 'http://localhost:3000']],
    ['CORS_ORIGINS', '*', ['*']],
    ['TOP_UP_SECRETS', RANDOM, [RANDOM]],
    ['TOP_UP_SECRETS', `whsec_${RANDOM}, ${RANDOM}`, [`whsec_${RANDOM}`, RANDOM]],
    ['TRUST_PROXY', 'true', true],
    ['TRUST_PROXY', '2', 2],
    ['TRUST_PROXY', 'loopback, 10.0.0.0/8', 'loopback, 10.0.0.0/8'],
    ['EDGE_REPLICAS_MAX', '12', 12],
    ['OTEL_TRACES_SAMPLER_ARG', '0.25', 0.25],
    ['KEYS_MASTER_SECRET', SECRET, SECRET],
    ['AUTH_ISSUER', 'https://id.example.com/', 'https://id.example.com/'],
    ['CONSOLE_SCOPE', 'openid email', 'openid email'],
  ])('%s=%s is understood', (name, text, value) => {
    expect(read(name, text)).toEqual(value)
  })

  test.each<[Name, unknown]>([
    ['PORT', 8080],
    ['HOST', '127.0.0.1'],
    ['HEALTH_PORT', undefined],
    ['LOG_LEVEL', 'info'],
    ['GATEWAY_CONFIG', undefined],
    ['DRAIN_MS', 600_000],
    ['STOP_NOTICE_MS', 0],
    ['NATS_STREAM_REPLICAS', 1],
    ['HEALTH_HOST', '127.0.0.1'],
    ['CORS_ORIGINS', []],
    ['TOP_UP_SECRETS', []],
    ['TRUST_PROXY', false],
    ['EDGE_REPLICAS_MAX', 1],
    ['DATA_DIR', './data'],
  ])('%s has a default, also when it is set to nothing', (name, value) => {
    expect(read(name, undefined)).toEqual(value)
    expect(read(name, '')).toEqual(value)
  })

  test.each<Name>(['NATS_URL', 'REDIS_URL', 'DATABASE_URL', 'KEYS_MASTER_SECRET', 'AUTH_ISSUER'])(
    '%s has none: an operator whose process needs it reads so',
    (name) => {
      expect(() => read(name, '')).toThrow(`  ${name}  is not set; set it to `)
    },
  )

  test.each<[Name, string, string]>([
    ['PORT', 'http', 'must be a whole number; set it to the port of the public HTTP address; 0 takes a free one'],
    ['PORT', '-1', 'must be a whole number'],
    ['PORT', '8080.5', 'must be a whole number'],
    ['PORT', '70000', 'must be 65535 or less'],
    ['PORT', '0x1F90', 'must be a whole number'],
    ['PORT', '9'.repeat(17), 'must be a whole number'],
    ['OTEL_TRACES_SAMPLER_ARG', ' ', 'must be a number'],
    ['OTEL_TRACES_SAMPLER_ARG', '0x1', 'must be a number'],
    ['OTEL_TRACES_SAMPLER_ARG', '1e-1', 'must be a number'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'must be 1 or less'],
    ['LOG_LEVEL', 'loud', 'set it to one of trace, debug, info, warn, error, fatal, silent'],
    [
      'NATS_URL',
      'http://nats:4222',
      'must be a nats:// address; set it to the NATS server, such as nats://127.0.0.1:4222',
    ],
    ['REDIS_URL', 'redis', 'must be a redis:// address'],
    ['REDIS_URL', 'redis-sentinel://a:26379', 'redis-sentinel://host:26379,host:26379#name'],
    ['REDIS_URL', 'redis-sentinel://a?password=pw#main', 'takes only sentinel-user and sentinel-password'],
    ['REDIS_URL', 'redis://a:6379,b:6379', 'must be a redis:// address'],
    ['DATABASE_URL', 'mysql://db/x', 'must be a postgres:// address'],
    ['PUBLIC_BASE_URL', 'ai.example.com', 'must be an http or https address'],
    ['CORS_ORIGINS', 'https://a.example/path', 'must be origins such as https://app.example.com'],
    ['EDGE_REPLICAS_MAX', '0', 'must be 1 or more'],
    ['CONSOLE_SCOPE', 'profile keys openid2', 'must hold openid'],
    ['TOP_UP_SECRETS', 'guessable', 'must be 24 to 64 random bytes in Base64'],
    ['TOP_UP_SECRETS', `${RANDOM},`, 'must be 24 to 64 random bytes in Base64'],
    ['TOP_UP_SECRETS', [RANDOM, RANDOM, RANDOM].join(','), 'must be one secret, or two during a rotation'],
    ['KEYS_MASTER_SECRET', 'short', 'must have 32 characters or more'],
    ['KEYS_MASTER_SECRET', 'change-me-change-me-change-me-change-me', 'must be a random secret'],
    ['KEYS_MASTER_SECRET', '0'.repeat(32), 'must be a random secret'],
  ])('%s=%s is refused with the next step', (name, text, message) => {
    expect(() => read(name, text)).toThrow(message)
  })

  test('is never quoted in an error: it may be a secret', () => {
    expect(() => read('DATABASE_URL', 'hunter22@db')).toThrow(/^(?!.*hunter22)/s)
    expect(() => read('KEYS_MASTER_SECRET', 'hunter22')).toThrow(/^(?!.*hunter22)/s)
  })
})

test('all problems are reported at once, one line each', () => {
  const schema = z.object({ PORT: variables.PORT, NATS_URL: variables.NATS_URL, LOG_LEVEL: variables.LOG_LEVEL })
  const error = (() => {
    try {
      return parseEnvironment(schema, { PORT: 'x', LOG_LEVEL: 'info' })
    } catch (caught) {
      return caught
    }
  })()
  expect(error).toBeInstanceOf(EnvironmentError)
  expect((error as EnvironmentError).problems.map(({ variable }) => variable)).toEqual(['PORT', 'NATS_URL'])
  expect((error as Error).message.split('\n')).toHaveLength(3)
})

test('a service ignores variables that it does not read', () => {
  expect(parseEnvironment(z.object({ PORT: variables.PORT }), { PORT: '1', LOG_LEVEL: 'loud' })).toEqual({ PORT: 1 })
})

test.each([
  [{ PORT: 8080 }, 8081],
  [{ PORT: 8080, HEALTH_PORT: 9000 }, 9000],
  [{ PORT: 8080, HEALTH_PORT: 0 }, 0],
  [{ PORT: 0 }, 0],
])('with %o the health port is %i', (environment, port) => {
  expect(healthPort(environment)).toBe(port)
})

test('the addresses follow from the public base address, and each can be set alone', () => {
  expect(addresses({ PORT: 8080 })).toEqual({
    publicBaseUrl: 'http://127.0.0.1:8080',
    docsUrl: 'http://127.0.0.1:8080/docs',
    topupUrl: 'http://127.0.0.1:8080/console',
    consoleUrl: 'http://127.0.0.1:8080/console',
    audience: 'http://127.0.0.1:8080',
  })
  expect(addresses({ HOST: '::1', PORT: 8080 }).consoleUrl).toBe('http://[::1]:8080/console')
  expect(addresses({ HOST: '192.168.1.5', PORT: 8080 }).audience).toBe('http://192.168.1.5:8080')
  for (const HOST of ['0.0.0.0', '::', 'localhost']) {
    expect(addresses({ HOST, PORT: 8080 }).publicBaseUrl).toBe('http://127.0.0.1:8080')
  }
  const set = {
    PORT: 1,
    PUBLIC_BASE_URL: 'https://ai.example',
    CONSOLE_URL: 'https://keys.example',
    AUTH_AUDIENCE: 'aud',
  }
  expect(addresses(set)).toEqual({
    publicBaseUrl: 'https://ai.example',
    docsUrl: 'https://ai.example/docs',
    topupUrl: 'https://keys.example',
    consoleUrl: 'https://keys.example',
    audience: 'aud',
  })
})
