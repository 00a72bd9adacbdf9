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
import { administerReply, administerRequest } from './administration/envelope.ts'
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
import { accountKeyEvent, spendAlertEvent } from './account-events.ts'
import { describeEdge, edgeDescribed } from './edges-api.ts'
import { configDescribed, describeConfig } from './config-api.ts'
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
  meteringAdministerRequest,
  overviewReply,
  overviewRequest,
  quotaReply,
  quotaRequest,
  usageByAccountReply,
  usageByAccountRequest,
  warmReply,
  warmRequest,
} from './metering-api.ts'
import { receiptSecretsReply, receiptSecretsRequest } from './receipts.ts'
import {
  noteRepairsReply,
  noteRepairsRequest,
  reconcileKeysReply,
  reconcileKeysRequest,
  reconcileTotalsReply,
  reconcileTotalsRequest,
} from './reconcile-api.ts'
import {
  backendControlsReply,
  backendControlsRequest,
  describeRouter,
  routerAlive,
  routerDescribed,
  showRoutersReply,
  showRoutersRequest,
} from './routers-api.ts'
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
   * - `kept`: the last one is stored, and read by `to`
   */
  kind: 'job' | 'question' | 'news' | 'event' | 'kept'
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
  <From extends BusRole, To extends BusRole>(from: readonly From[], to: readonly To[]) =>
  <const Subject extends string, Message extends z.ZodType>(subject: Subject, news: Message, about: string) =>
    ({ kind: 'news', from, to, subject, messages: { news }, about }) as const

const edgeToKeys = procedure(['edge'], 'keys')
const edgeToMetering = procedure(['edge'], 'metering')
const operatorToKeys = procedure(['ctl'], 'keys')
const routersToRouters = broadcast(['router'], ['router'])
const edgesToEdges = broadcast(['edge'], ['edge'])

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
  routersShow: procedure(['edge', 'metering', 'ctl'], 'router')(
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

  edgesDescribe: edgesToEdges('edges.describe', describeEdge, 'the edge that serves an overview queries the others'),
  edgesDescribed: edgesToEdges('edges.described', edgeDescribed, 'each edge replies to that edge'),
  configDescribe: broadcast(['edge'], ['edge', 'keys', 'metering'])(
    'config.describe',
    describeConfig,
    'an edge queries the revisions of the config',
  ),
  configDescribed: broadcast(['edge', 'keys', 'metering'], ['edge'])(
    'config.described',
    configDescribed,
    'each process replies',
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
  keysReceiptSecrets: repeatable(
    edgeToKeys('keys.receipt-secrets', receiptSecretsRequest, receiptSecretsReply, 'the secrets that sign receipts'),
  ),
  keysStateSecrets: repeatable(
    procedure(['router'], 'keys')(
      'keys.state-secrets',
      stateSecretsRequest,
      stateSecretsReply,
      'the secrets that seal the state which clients keep',
    ),
  ),
  keysBackendControls: repeatable(
    procedure(['router'], 'keys')(
      'keys.backend-controls',
      backendControlsRequest,
      backendControlsReply,
      'the backends that an operator has taken out, for a router that does not hear of them',
    ),
  ),
  keysControls: broadcast(['keys'], ['router'])(
    'keys.controls',
    backendControlsReply,
    'these backends, after each change and once a second',
  ),
  keptControls: {
    kind: 'kept',
    from: ['router'],
    to: ['router'],
    subject: 'kept.backend-controls',
    messages: { value: backendControlsReply },
    about: 'these backends, for a router that starts while keys is away',
  },
  keysAdminister: procedure(['edge', 'ctl'], 'keys')(
    'keys.administer',
    administerRequest,
    administerReply,
    'a call of the administration API',
  ),
  keysSetPlan: operatorToKeys('keys.set-plan', setPlanRequest, accountReply, "an account's plan"),
  keysSetOverage: operatorToKeys('keys.set-overage', setOverageRequest, accountReply, "an account's overage"),
  keysTopUp: operatorToKeys('keys.top-up', topUpRequest, accountReply, "a top-up of an account's month"),
  keysShowAccount: operatorToKeys('keys.show-account', showAccountRequest, accountReply, 'one account'),
  keysRevokeById: operatorToKeys('keys.revoke-by-id', revokeKeyByIdRequest, revokeKeyByIdReply, 'the end of any key'),
  keysReseal: operatorToKeys('keys.reseal', resealRequest, resealReply, 'seals keys under the current master key'),
  keysReconcile: procedure(['edge', 'ctl'], 'keys')(
    'keys.reconcile',
    reconcileKeysRequest,
    reconcileKeysReply,
    "whether the admission store agrees with keys' tables",
  ),
  keysNoteRepairs: procedure(['metering'], 'keys')(
    'keys.note-repairs',
    noteRepairsRequest,
    noteRepairsReply,
    'repairs of totals, for the audit log',
  ),
  keysInvalidated: broadcast(['keys'], ['edge'])('keys.invalidated', keysInvalidated, 'a key is dead'),
  keysUsed: broadcast(['metering'], ['keys'])('keys.used', keysUsed, 'when keys were last used'),
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
  meteringUsageByAccount: procedure(['edge', 'ctl'], 'metering')(
    'metering.usage-by-account',
    usageByAccountRequest,
    usageByAccountReply,
    'usage of all accounts',
  ),
  meteringAdminister: repeatable(
    procedure(['edge', 'ctl'], 'metering')(
      'metering.administer',
      meteringAdministerRequest,
      administerReply,
      'usage and costs of the administration API, once keys has authorized the caller',
    ),
  ),
  meteringOverview: repeatable(
    edgeToMetering('metering.overview', overviewRequest, overviewReply, "the ledger's sums of an overview"),
  ),
  meteringReconcile: procedure(['edge', 'ctl'], 'metering')(
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
    to: ['metering'],
    subject: 'account.threshold',
    messages: { event: accountThreshold },
    about: 'for operators: an account has used 80 % or all of its allowance',
  },
  accountSpendAlert: {
    kind: 'event',
    from: ['keys'],
    to: ['metering'],
    subject: 'account.spend-alert',
    messages: { event: spendAlertEvent },
    about: 'for operators: a project or the organization has reached a spend alert',
  },
  accountKey: {
    kind: 'event',
    from: ['keys'],
    to: ['metering'],
    subject: 'account.key',
    messages: { event: accountKeyEvent },
    about: "for operators: a developer's or a project's key was created, rotated or revoked, or expires soon",
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
