/**
 * The bus' subjects and queue groups by name, and the durable side's streams and consumers.
 */

import { procedures, type RequestedBy, type BusRole, type ProcedureName } from './bus-roles.ts'

type Subjects = { readonly [Name in ProcedureName]: (typeof procedures)[Name]['subject'] }
export const subjects = Object.fromEntries(
  Object.entries(procedures).map(([name, { subject }]) => [name, subject]),
) as unknown as Subjects

export type OperatorSubject = Subjects[RequestedBy<'ctl'>]
/** The requests that an operator may send to a running gateway. */
export const operatorSubjects = Object.values(procedures)
  .filter(({ from }) => from.some((role) => role === 'ctl'))
  .map(({ subject }) => subject as OperatorSubject)

/** Members of a group share its questions and jobs. */
export const groups = {
  edge: 'edges',
  router: 'routers',
  keys: 'keys',
  metering: 'metering',
} as const satisfies Partial<Record<BusRole, string>>

export const usageConsumers = { metering: 'metering-ledger' } as const
/** An event is kept until every one of `consumers` has committed it. */
export const usageStream = { name: 'USAGE', subjects: ['usage.>'], consumers: [usageConsumers.metering] } as const

/** The last value of each subject. */
export const keptStream = { name: 'KEPT', subjects: ['kept.>'], consumers: [], lastOnly: true } as const

const DAY_MS = 86_400_000
/** News that operators may want to act on. Read it with any consumer of your own; nothing waits for one. */
export const accountStream = {
  name: 'ACCOUNTS',
  subjects: ['account.>'],
  consumers: [],
  maxAgeMs: 30 * DAY_MS,
} as const

export const accountConsumers = { metering: 'metering-webhooks' } as const
/** As metering consumes it, for webhooks and e-mail. */
export const consumedAccountStream = { ...accountStream, consumers: [accountConsumers.metering] } as const
