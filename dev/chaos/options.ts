/**
 * The options of the command line.
 */

import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { UsageError } from '@gateway/service/report-fatal'
import { KINDS, type FaultAction, type FaultKind } from './plan/faults.ts'
import { REDIS_HOSTS, type RedisForm } from './plan/places.ts'
import { type Sabotage, SABOTAGES } from './sabotage/sabotages.ts'
import type { Versions } from './stage/versions.ts'

export interface ChaosOptions {
  requests: number
  kills: number
  seed: number
  /** The verdict as one JSON value on standard output, instead of tables. */
  json: boolean
  only?: FaultKind[]
  /** For the suite's own test: the gateway is broken on purpose, and the run has to fail. */
  sabotage?: Sabotage
  /** Each process has a host of its own, and faults are packets lost between them. */
  network?: boolean
  /** Servers have copies on hosts of their own, and a copy takes the place of a lost primary: of Redis, by this. */
  replicated?: RedisForm | undefined
  /** For the skew test: the run begins on the former version, and these switches are its faults. */
  versions?: Versions
  switches?: readonly FaultAction[]
  /** For the skew test: the APIs that both versions know. Without it, clients use all. */
  ways?: readonly ClientDialect[]
  /** Broken on purpose, it may never come to rest. */
  isBroken?: boolean
}

export const USAGE = `npm run chaos -- [--requests 2000] [--kills 9] [--seed <number>] [--only kill,freeze] [--sabotage no-wait] [--network] [--replicated] [--redis sentinels] [--json]\nEach option: dev/chaos/README.md`

const MAX_SEED = 2 ** 31

export function readOptions(args: string[]): ChaosOptions {
  const { values } = parseArgs({
    args,
    options: {
      requests: { type: 'string', default: '2000' },
      kills: { type: 'string', default: '9' },
      seed: { type: 'string' },
      only: { type: 'string' },
      sabotage: { type: 'string' },
      network: { type: 'boolean', default: false },
      replicated: { type: 'boolean', default: false },
      redis: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  if (values.replicated && !values.network) throw new UsageError('--replicated needs --network')
  if (values.redis !== undefined && !values.replicated) throw new UsageError('--redis needs --replicated')
  if (values.network && values.only !== undefined)
    throw new UsageError('--network has faults of its own: leave --only out')
  return {
    requests: integer('requests', values.requests, 1),
    kills: integer('kills', values.kills, 0),
    seed: values.seed === undefined ? randomInt(MAX_SEED) : integer('seed', values.seed, 0),
    json: values.json,
    network: values.network,
    replicated: values.replicated ? redisForm(values.redis ?? 'copies') : undefined,
    ...(values.only !== undefined && { only: values.only.split(',').map(faultKind) }),
    ...(values.sabotage !== undefined && { sabotage: sabotageNamed(values.sabotage) }),
  }
}

function integer(option: string, text: string, least: number): number {
  const number = Number(text)
  if (Number.isInteger(number) && number >= least) return number
  throw new UsageError(`--${option} must be a whole number of at least ${least}, not ${text}\n${USAGE}`)
}

function faultKind(name: string): FaultKind {
  if (name in KINDS) return name as FaultKind
  throw new UsageError(`there is no fault ${name}; there are ${Object.keys(KINDS).join(', ')}`)
}

function redisForm(name: string): RedisForm {
  if (name in REDIS_HOSTS) return name as RedisForm
  throw new UsageError(`--redis is ${Object.keys(REDIS_HOSTS).join(', or ')}, not ${name}`)
}

function sabotageNamed(name: string): Sabotage {
  if (name in SABOTAGES) return name as Sabotage
  throw new UsageError(`there is no sabotage ${name}; there are ${Object.keys(SABOTAGES).join(', ')}`)
}
