/**
 * Every subject of the bus, spelled once. Stream and consumer names are the durable side's.
 */

export const subjects = {
  /** Jobs for the routers that own this pool. Queue group {@link groups.routers}. */
  job: (pool: string) => `job.${pool}`,
  /** Jobs for the edge that is this process: give an answer that it runs to a client of another edge. */
  answers: (processId: string) => `answers.${processId}`,
  /** Broadcast by every router to the others, once a second. */
  routersAlive: 'routers.alive',
  /** Broadcast by a router that an operator has asked, and what every router answers. */
  routersDescribe: 'routers.describe',
  routersDescribed: 'routers.described',
  routersShow: 'routers.show',
  keysFill: 'keys.fill',
  keysLookUp: 'keys.look-up',
  keysMintGuest: 'keys.mint-guest',
  keysMint: 'keys.mint',
  keysRotate: 'keys.rotate',
  keysRevoke: 'keys.revoke',
  keysList: 'keys.list',
  keysFindSession: 'keys.find-session',
  keysFindAccount: 'keys.find-account',
  keysSetPlan: 'keys.set-plan',
  keysSetOverage: 'keys.set-overage',
  keysTopUp: 'keys.top-up',
  keysShowAccount: 'keys.show-account',
  keysRevokeById: 'keys.revoke-by-id',
  keysReseal: 'keys.reseal',
  keysReconcile: 'keys.reconcile',
  /** Edges ask for what seals the answers that they keep. */
  keysAnswerSecrets: 'keys.answer-secrets',
  /** Broadcast to every edge: a key is dead. */
  keysInvalidated: 'keys.invalidated',
  /** Broadcast by metering: when keys were last used. */
  keysUsed: 'keys.used',
  /** Metering tells what accounts have used. */
  keysNoteStanding: 'keys.note-standing',
  meteringQuota: 'metering.quota',
  meteringWarm: 'metering.warm',
  meteringAccountUsage: 'metering.account-usage',
  meteringUsageByAccount: 'metering.usage-by-account',
  meteringReconcile: 'metering.reconcile',
  /** Durable: usage reports of edges and routers. */
  usage: 'usage.reported',
  /** Durable, for operators: an account has used 80 % or all of its allowance. */
  accountThreshold: 'account.threshold',
} as const

/** What an operator may ask of a running gateway. */
export const operatorSubjects = [
  subjects.keysShowAccount,
  subjects.keysSetPlan,
  subjects.keysSetOverage,
  subjects.keysTopUp,
  subjects.keysRevokeById,
  subjects.keysReseal,
  subjects.routersShow,
  subjects.meteringAccountUsage,
  subjects.meteringUsageByAccount,
  subjects.keysReconcile,
  subjects.meteringReconcile,
] as const
export type OperatorSubject = (typeof operatorSubjects)[number]

export const groups = { edges: 'edges', routers: 'routers', keys: 'keys', metering: 'metering' } as const

export const usageConsumers = { metering: 'metering-ledger' } as const
/** An event is kept until every one of `consumers` has committed it. */
export const usageStream = { name: 'USAGE', subjects: ['usage.>'], consumers: [usageConsumers.metering] } as const

const DAY_MS = 86_400_000
/** What operators may want to act on. Nobody in the gateway consumes it; read it with any consumer of your own. */
export const accountStream = {
  name: 'ACCOUNTS',
  subjects: ['account.>'],
  consumers: [],
  maxAgeMs: 30 * DAY_MS,
} as const
