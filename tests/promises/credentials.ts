/**
 * Promises about every row of the route table: it refuses a caller that lacks its credential, on each path that serves
 * it.
 */

import { randomBytes } from 'node:crypto'
import { formatKey, parseKey, randomBase62 } from '@gateway/contracts/api-key'
import { describe, expect, test } from 'vitest'
import type { Credential } from '../../services/edge/src/auth/authenticate.ts'
import type { Operation } from '../../services/edge/src/reference/api-reference.ts'
import { reference } from '../../services/edge/src/routes.ts'
import { type Address, manageKeys, newDeveloper, send } from './gateway.ts'

/** A bearer value each; none is sent for `nothing`. */
interface Bearers {
  nothing: undefined
  'a live key': string
  'a revoked key': string
  'a forged key of a live account': string
  'the token of an owner without a live key': string
  'a token with another signature': string
  'an opaque token': string
}
type Kind = keyof Bearers

const REFUSED_EVERYWHERE: Partial<Record<Kind, string>> = {
  nothing: 'NO_AUTH',
  'a token with another signature': 'INVALID_TOKEN',
  'an opaque token': 'INVALID_TOKEN',
}
const DEAD_KEYS: Partial<Record<Kind, string>> = {
  'a revoked key': 'INVALID_KEY',
  'a forged key of a live account': 'INVALID_KEY',
}
const NO_LIVE_KEY = { ...REFUSED_EVERYWHERE, ...DEAD_KEYS, 'the token of an owner without a live key': 'INVALID_KEY' }

const REFUSALS: Record<Credential, Partial<Record<Kind, string>>> = {
  none: {},
  key: NO_LIVE_KEY,
  'key at admission': NO_LIVE_KEY,
  account: { ...REFUSED_EVERYWHERE, ...DEAD_KEYS },
  // Walked in tests/administration, the signature with top-ups and the administrator with the roles.
  signature: {},
  administrator: {},
  'sign-in': {
    ...REFUSED_EVERYWHERE,
    'a live key': 'INVALID_TOKEN',
    'a revoked key': 'INVALID_TOKEN',
    'a forged key of a live account': 'INVALID_TOKEN',
  },
}

export function promiseCredentials(gateway: () => Address): void {
  describe('credentials', () => {
    test('only these routes serve anybody', () => {
      const open = reference.filter(({ credential }) => credential === 'none')
      expect(open.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'GET /v1/models',
        'GET /v1/models/{id}',
        'GET /v1/catalog',
        'POST /v1/keys/guest',
      ])
    })

    test('every route refuses each wrong credential, for any request and on every path', async () => {
      const [url] = gateway().urls
      const bearers = await collectBearers(gateway())
      expect(await findWrongResponses(url, bearers)).toEqual([])
    })

    test('and lets in the right one, by either header', async () => {
      const { key, token } = await newDeveloper(gateway())
      for (const operation of reference) {
        const bearer = operation.credential === 'sign-in' ? token : key
        for (const parts of [emptyRequest(operation, bearer), byApiKey(emptyRequest(operation, bearer))]) {
          const { status } = await send(gateway().urls[0], pathOf(operation), parts)
          expect([operation.path, status]).not.toEqual([operation.path, 401])
        }
      }
    })

    test('two credentials that differ are refused on every route that takes one, and one in both headers is not', async () => {
      const [url] = gateway().urls
      const [one, other] = [await newDeveloper(gateway()), await newDeveloper(gateway())]
      for (const operation of reference.filter(takesBearer)) {
        const asking = (bearer: string, apiKey: string) =>
          send(url, pathOf(operation), { ...emptyRequest(operation, bearer), headers: { 'x-api-key': apiKey } })
        const refused = await asking(one.key, other.key)
        expect([operation.path, refused.status, codeOf(refused.body)]).toEqual([
          operation.path,
          400,
          'VALIDATION_ERROR',
        ])
        const bearer = operation.credential === 'sign-in' ? one.token : one.key
        expect([operation.path, (await asking(bearer, bearer)).status]).not.toEqual([operation.path, 401])
      }
    })

    test('of two credentials, the one that the route can use counts, whichever header holds it', async () => {
      const [url] = gateway().urls
      const { key, token } = await newDeveloper(gateway())
      for (const operation of reference.filter(takesBearer)) {
        const [right, leftover] = operation.credential === 'sign-in' ? [token, key] : [key, 'sk-ant-oat01-left-over']
        const asking = async (bearer: string, apiKey: string) => {
          const request = { ...emptyRequest(operation, bearer), headers: { 'x-api-key': apiKey } }
          const { status, body } = await send(url, pathOf(operation), request)
          return [status, codeOf(body)]
        }
        const alone = await asking(right, right)
        expect([operation.path, alone[0]]).not.toEqual([operation.path, 401])
        expect([operation.path, await asking(right, leftover)]).toEqual([operation.path, alone])
        expect([operation.path, await asking(leftover, right)]).toEqual([operation.path, alone])
      }
    })
  })
}

function takesBearer({ credential }: Operation): boolean {
  return credential !== 'none' && credential !== 'signature'
}

export async function collectBearers(gateway: Address): Promise<Bearers> {
  const live = await newDeveloper(gateway)
  const revoked = await newDeveloper(gateway)
  await manageKeys(gateway, revoked.token, 'POST', '/revoke', { key: revoked.key })
  const [head, payload] = live.token.split('.')
  const [, , signature] = revoked.token.split('.')
  const random = (length: number) => randomBase62(length, randomBytes)
  return {
    nothing: undefined,
    'a live key': live.key,
    'a revoked key': revoked.key,
    'a forged key of a live account': formatKey({ ...parseKey(live.key)!, secret: random(32) }),
    'the token of an owner without a live key': revoked.token,
    'a token with another signature': [head, payload, signature].join('.'),
    'an opaque token': `sk-${random(20)}`,
  }
}

/** Returns each route that responds to a wrong credential with anything but its refusal. */
export async function findWrongResponses(url: string, bearers: Bearers): Promise<string[]> {
  const wrong: string[] = []
  for (const operation of reference) {
    for (const [kind, code] of Object.entries(REFUSALS[operation.credential]) as [Kind, string][]) {
      for (const [how, path, parts] of waysToRequest(operation, bearers[kind])) {
        const { status, body } = await send(url, path, parts)
        if (status === 401 && codeOf(body) === code) continue
        wrong.push(`${operation.method} ${operation.path}, ${how}, with ${kind}: ${status} ${String(codeOf(body))}`)
      }
    }
  }
  return wrong
}

/** Flat in the contract's bodies, nested in the other dialects'. */
function codeOf(body: Record<string, unknown>): unknown {
  const { error } = body
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : body['code']
}

type Parts = Parameters<typeof send>[2]

function byApiKey({ key, headers, ...parts }: NonNullable<Parts>): NonNullable<Parts> {
  return { ...parts, headers: { ...headers, ...(key !== undefined && { 'x-api-key': key }) } }
}

/** Inference takes the direct path where the target is its path alone, and Express' path otherwise. */
export function waysToRequest(
  operation: Operation,
  bearer: string | undefined,
): [how: string, path: string, parts: Parts][] {
  const path = pathOf(operation)
  const nothing = emptyRequest(operation, bearer)
  if (operation.method === 'GET') {
    return [
      ['as it is', path, nothing],
      ['by x-api-key', path, byApiKey(nothing)],
    ]
  }
  const body = JSON.stringify(operation.examples[0]!.body).replaceAll('$KEY', bearer ?? '')
  const padded = body.padEnd(100_000)
  return [
    ['with an empty body', path, nothing],
    ['as in the reference', path, { ...nothing, body }],
    ['by x-api-key', path, byApiKey({ ...nothing, body })],
    ['through Express', `${path}?through=express`, { ...nothing, body }],
    ['with a large body', path, { ...nothing, body: padded }],
    ['with a body that is no JSON', path, { ...nothing, body: '{' }],
    ['with a body of another type', path, { ...nothing, body, headers: { 'content-type': 'text/plain' } }],
    ['with an idempotency key', path, { ...nothing, body, headers: { 'idempotency-key': 'walked' } }],
  ]
}

function emptyRequest({ method }: Operation, bearer: string | undefined): NonNullable<Parts> {
  return { method, ...(bearer !== undefined && { key: bearer }), ...(method === 'POST' && { body: {} }) }
}

function pathOf({ path, pathParameters = [] }: Operation): string {
  return pathParameters.reduce((filled, { name, example }) => filled.replace(`{${name}}`, example), path)
}
