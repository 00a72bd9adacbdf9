/**
 * The senders and receivers of each message on the bus, and its schema. From this table follow the requests that a
 * service may send and must serve (`packages/rpc`), the broker's permissions and the table of subjects in
 * ARCHITECTURE.md. A message without a row has no subject.
 */

import type * as z from 'zod'
import {
  accountReply,
  resealReply,
  resealRequest,
  revokeKeyByIdReply,
  revokeKeyByIdRequest,
  setOverageRequest,
  setPlanRequest,
  showAccountRequest,
  topUpRequest,
} from './accounts-api.ts'
import {
  findAccountReply,
  findAccountRequest,
  findSessionReply,
  findSessionRequest,
  keysInvalidated,
  keysUsed,
  listKeysReply,
  listKeysRequest,
  mintKeyReply,
  mintKeyRequest,
  revokeKeyReply,
  revokeKeyRequest,
  rotateKeyReply,
  rotateKeyRequest,
} from './developer-keys-api.ts'
import { countTokensQuestion, countTokensReply } from './count-tokens-api.ts'
import {
  responseSecretsReply,
  responseSecretsRequest,
  followedEnd,
  followedFailure,
  followedHead,
  followRequest,
} from './idempotency.ts'
import { responseEnd, responseFailure, responseHead, jobHeader } from './job.ts'
import {
  fillReply,
  fillRequest,
  lookUpReply,
  lookUpRequest,
  mintGuestReply,
  mintGuestRequest,
  stateSecretsReply,
  stateSecretsRequest,
} from './keys-api.ts'
import {
  accountUsageReply,
  accountUsageRequest,
  quotaReply,
  quotaRequest,
  usageByAccountReply,
  usageByAccountRequest,
  warmReply,
  warmRequest,
} from './metering-api.ts'
import {
  reconcileKeysReply,
  reconcileKeysRequest,
  reconcileTotalsReply,
  reconcileTotalsRequest,
} from './reconcile-api.ts'
import { describeRouter, routerAlive, routerDescribed, showRoutersReply, showRoutersRequest } from './routers-api.ts'
import { accountThreshold, recordQuotaStatusReply, recordQuotaStatusRequest } from './quota-status.ts'
import { usageBatch } from './usage-event.ts'

/** The names under which processes open the bus. `ctl` is the operator's command line. */
export const busRoles = ['edge', 'router', 'keys', 'metering', 'ctl'] as const
export type BusRole = (typeof busRoles)[number]

export interface Procedure {
  /**
   * - `job`: taken by one of `to`; frames go both ways
   * - `question`: one of `to` replies
   * - `news`: published to every one of `to`
   * - `event`: stored, and consumed by `to`
   */
  kind: 'job' | 'question' | 'news' | 'event'
  from: readonly BusRole[]
  to: readonly BusRole[]
  /** A job's subject names its pool or its process. */
  subject: string | ((of: string) => string)
  messages: Readonly<Record<string, z.ZodType>>
  /** For the readers of ARCHITECTURE.md. */
  about: string
}

const procedure =
  <From extends BusRole, To extends BusRole>(from: readonly From[], to: To) =>
  <const Subject extends string, Request extends z.ZodType, Reply extends z.ZodType>(
    subject: Subject,
    request: Request,
    reply: Reply,
    about: string,
  ) =>
    ({ kind: 'question', from, to: [to], subject, messages: { request, reply }, isRepeatable: false, about }) as const

/** A request that may be served twice: the bus repeats it after a failed reply. */
const repeatable = <Request extends Procedure>(request: Request) => ({ ...request, isRepeatable: true })

const broadcast =
  <From extends BusRole, To extends BusRole>(from: From, to: To) =>
  <const Subject extends string, Message extends z.ZodType>(subject: Subject, news: Message, about: string) =>
    ({ kind: 'news', from: [from], to: [to], subject, messages: { news }, about }) as const

const edgeToKeys = procedure(['edge'], 'keys')
const edgeToMetering = procedure(['edge'], 'metering')
const operatorToKeys = procedure(['ctl'], 'keys')
const operatorToMetering = procedure(['ctl'], 'metering')
const routersToRouters = broadcast('router', 'router')

export const procedures = {
  job: {
    kind: 'job',
    from: ['edge'],
    to: ['router'],
    subject: (pool: string) => `job.${pool}`,
    messages: { header: jobHeader, head: responseHead, end: responseEnd, failure: responseFailure },
    about: 'a job for the routers that own the pool; large bodies follow in parts',
  },
  compaction: {
    kind: 'job',
    from: ['edge'],
    to: ['router'],
    subject: (pool: string) => `compactions.${pool}`,
    messages: { header: jobHeader, head: responseHead, end: responseEnd, failure: responseFailure },
    about: 'a job that compacts a conversation; a router of release 0.1.0 would serve it as another request',
  },
  answers: {
    kind: 'job',
    from: ['edge'],
    to: ['edge'],
    subject: (processId: string) => `answers.${processId}`,
    messages: { header: followRequest, head: followedHead, end: followedEnd, failure: followedFailure },
    about: "a client's request to join a response that runs in that process",
  },
  routersAlive: routersToRouters('routers.alive', routerAlive, "once a second: routers share backends' limits"),
  routersDescribe: routersToRouters(
    'routers.describe',
    describeRouter,
    'the router that serves an operator queries the others',
  ),
  routersDescribed: routersToRouters('routers.described', routerDescribed, 'each router replies to that router'),
  routersShow: procedure(['ctl'], 'router')(
    'routers.show',
    showRoutersRequest,
    showRoutersReply,
    "each backend's health",
  ),
  routersCountTokens: procedure(['edge'], 'router')(
    'routers.count-tokens',
    countTokensQuestion,
    countTokensReply,
    "a prompt's tokens by a backend's own count",
  ),

  keysFill: repeatable(edgeToKeys('keys.fill', fillRequest, fillReply, "admission's `miss`")),
  keysLookUp: repeatable(
    edgeToKeys('keys.look-up', lookUpRequest, lookUpReply, 'whether a key is alive, while Redis is away'),
  ),
  keysMintGuest: edgeToKeys('keys.mint-guest', mintGuestRequest, mintGuestReply, "a device's guest key"),
  keysMint: edgeToKeys('keys.mint', mintKeyRequest, mintKeyReply, "a signed-in caller's key"),
  keysRotate: edgeToKeys('keys.rotate', rotateKeyRequest, rotateKeyReply, 'a new key for the current one'),
  keysRevoke: edgeToKeys('keys.revoke', revokeKeyRequest, revokeKeyReply, "the end of a caller's key"),
  keysList: edgeToKeys('keys.list', listKeysRequest, listKeysReply, "a signed-in caller's keys"),
  keysFindSession: repeatable(
    edgeToKeys('keys.find-session', findSessionRequest, findSessionReply, "a signed-in caller's active key"),
  ),
  keysFindAccount: repeatable(
    edgeToKeys('keys.find-account', findAccountRequest, findAccountReply, "a signed-in caller's account"),
  ),
  keysAnswerSecrets: repeatable(
    edgeToKeys(
      'keys.answer-secrets',
      responseSecretsRequest,
      responseSecretsReply,
      'the secrets that seal kept responses',
    ),
  ),
  keysStateSecrets: repeatable(
    procedure(['router'], 'keys')(
      'keys.state-secrets',
      stateSecretsRequest,
      stateSecretsReply,
      'the secrets that seal the state which clients keep',
    ),
  ),
  keysSetPlan: operatorToKeys('keys.set-plan', setPlanRequest, accountReply, "an account's plan"),
  keysSetOverage: operatorToKeys('keys.set-overage', setOverageRequest, accountReply, "an account's overage"),
  keysTopUp: operatorToKeys('keys.top-up', topUpRequest, accountReply, "a top-up of an account's month"),
  keysShowAccount: operatorToKeys('keys.show-account', showAccountRequest, accountReply, 'one account'),
  keysRevokeById: operatorToKeys('keys.revoke-by-id', revokeKeyByIdRequest, revokeKeyByIdReply, 'the end of any key'),
  keysReseal: operatorToKeys('keys.reseal', resealRequest, resealReply, 'seals keys under the current master key'),
  keysReconcile: operatorToKeys(
    'keys.reconcile',
    reconcileKeysRequest,
    reconcileKeysReply,
    "whether the admission store agrees with keys' tables",
  ),
  keysInvalidated: broadcast('keys', 'edge')('keys.invalidated', keysInvalidated, 'a key is dead'),
  keysUsed: broadcast('metering', 'keys')('keys.used', keysUsed, 'when keys were last used'),
  keysNoteStanding: procedure(['metering'], 'keys')(
    'keys.note-standing',
    recordQuotaStatusRequest,
    recordQuotaStatusReply,
    'totals that moved, for the thresholds below',
  ),

  meteringQuota: repeatable(edgeToMetering('metering.quota', quotaRequest, quotaReply, 'the quota record')),
  meteringAccountUsage: repeatable(
    procedure(['edge', 'ctl'], 'metering')(
      'metering.account-usage',
      accountUsageRequest,
      accountUsageReply,
      'usage of one account over time',
    ),
  ),
  meteringUsageByAccount: operatorToMetering(
    'metering.usage-by-account',
    usageByAccountRequest,
    usageByAccountReply,
    'usage of all accounts',
  ),
  meteringReconcile: operatorToMetering(
    'metering.reconcile',
    reconcileTotalsRequest,
    reconcileTotalsReply,
    'whether the admission store agrees with the ledger',
  ),
  meteringWarm: repeatable(
    procedure(['edge', 'keys'], 'metering')(
      'metering.warm',
      warmRequest,
      warmReply,
      "admission's `cold`; after a change of plan, the total in the new unit",
    ),
  ),

  usage: {
    kind: 'event',
    from: ['edge', 'router'],
    to: ['metering'],
    subject: 'usage.reported',
    messages: { event: usageBatch },
    about: 'usage of requests',
  },
  accountThreshold: {
    kind: 'event',
    from: ['keys'],
    to: [],
    subject: 'account.threshold',
    messages: { event: accountThreshold },
    about: 'for operators: an account has used 80 % or all of its allowance',
  },
} as const satisfies Record<string, Procedure>

type Procedures = typeof procedures
export type ProcedureName = keyof Procedures
type NamesOf<Kind extends Procedure['kind'], Side extends 'from' | 'to', Role> = {
  [Name in ProcedureName]: Procedures[Name]['kind'] extends Kind
    ? Role extends Procedures[Name][Side][number]
      ? Name
      : never
    : never
}[ProcedureName]

export type RequestedBy<Role extends BusRole> = NamesOf<'question', 'from', Role>
export type ServedBy<Role extends BusRole> = NamesOf<'question', 'to', Role>
export type PublishedBy<Role extends BusRole> = NamesOf<'news', 'from', Role>
export type SubscribedBy<Role extends BusRole> = NamesOf<'news', 'to', Role>
export type ReportedBy<Role extends BusRole> = NamesOf<'event', 'from', Role>

/** A message as its writer gives it, and as its reader gets it: with defaults. */
type Messages<Name extends ProcedureName> = Procedures[Name]['messages']
export type Written<Name extends ProcedureName, Part extends keyof Messages<Name>> = z.input<Messages<Name>[Part]>
export type Read<Name extends ProcedureName, Part extends keyof Messages<Name>> = z.output<Messages<Name>[Part]>
