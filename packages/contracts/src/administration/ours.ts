/**
 * `/admin/v1`: calls that OpenAI's API has not. The command line makes the same calls over HTTP.
 */

import * as z from 'zod'
import { accountView } from '../accounts-api.ts'
import { accountUsageReply, usageByAccountReply } from '../metering-api.ts'
import { drift } from '../reconcile-api.ts'
import { backendControls, showRoutersReply } from '../routers-api.ts'
import { topUpAmount } from '../top-ups.ts'
import { planUnit } from '../usage.ts'
import { usageGroupings } from '../usage-api.ts'
import { nothing, type Operation } from './operation.ts'
import { snakeCasedSchema } from './snake-case.ts'

/** `half-open`: back from an ejection, one request at a time until one succeeds. */
const backendStates = ['usable', 'half-open', 'ejected', 'cooling', 'drained'] as const
export type BackendState = (typeof backendStates)[number]

const backend = z.object({
  id: z.string(),
  object: z.literal('backend'),
  /** The worst that a router sees; an operator's word goes first. */
  state: z.enum(backendStates),
  /** An operator has taken it out, until it is restored. */
  control: z.enum(backendControls).nullable(),
  /** In words: the routers and the models that see it so. */
  reasons: z.array(z.string()),
  /** Calls under way, and the number that all routers together may have. */
  outstanding: z.int(),
  slots: z.int(),
})
export type ListedBackend = z.input<typeof backend>

const controlledBackend = z.object({
  id: z.string(),
  object: z.literal('backend'),
  control: z.enum(backendControls).nullable(),
})

const account = z.object({
  id: z.string(),
  object: z.literal('account'),
  ...snakeCasedSchema(accountView).shape,
})
export type AdministeredAccount = z.input<typeof account>

const plan = z.object({
  id: z.string(),
  object: z.literal('plan'),
  unit: planUnit,
  limit: z.number(),
  requests_per_minute: z.int(),
  tokens_per_minute: z.int(),
  requests_per_day: z.int().nullable(),
  is_default: z.boolean(),
  is_guest: z.boolean(),
  is_paid: z.boolean(),
  pay_as_you_go: z.boolean(),
})

const runningProcess = z.object({
  /** `edge`, `router`, `keys` or `metering`. */
  service: z.string(),
  process: z.string(),
  host: z.string(),
  pid: z.int(),
  /** Null for a process that reads no config. */
  revision: z.string().nullable(),
})
export type ListedRevision = z.infer<typeof runningProcess>

const problem = z.object({
  field: z.string(),
  message: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
})

const BACKEND = '/admin/v1/backends/{backend_id}'
const ACCOUNT = '/admin/v1/accounts/{account_id}'

const controlRow = {
  method: 'POST',
  service: 'keys',
  access: 'owner',
  query: nothing,
  body: nothing,
  output: controlledBackend,
} as const

export const backendOperations = {
  'backends.list': {
    method: 'GET',
    path: '/admin/v1/backends',
    service: 'edge',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: z.object({
      object: z.literal('list'),
      data: z.array(backend),
      ...snakeCasedSchema(showRoutersReply).shape,
    }),
    about: 'shows each backend, together and as each router sees it',
  },
  'backends.eject': {
    ...controlRow,
    path: `${BACKEND}/eject`,
    about: 'takes a backend out until it is restored; it is the last resort where nothing else is left',
  },
  'backends.drain': {
    ...controlRow,
    path: `${BACKEND}/drain`,
    about: 'gives a backend no new request until it is restored; open ones finish',
  },
  'backends.restore': {
    ...controlRow,
    path: `${BACKEND}/restore`,
    about: 'brings an ejected or drained backend back',
  },
} as const satisfies Record<string, Operation>

export const configOperations = {
  'config.show': {
    method: 'GET',
    path: '/admin/v1/config',
    service: 'edge',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: z.object({
      object: z.literal('config'),
      /** Of the edge that replies. */
      revision: z.string(),
      processes: z.array(runningProcess),
      /** Live processes that did not reply. A service of which none replied counts once. */
      silent: z.int(),
    }),
    about: 'shows the revision of the config that each process runs, and how many did not reply',
  },
  'config.check': {
    method: 'POST',
    path: '/admin/v1/config/check',
    service: 'edge',
    access: 'reader',
    query: nothing,
    body: z.strictObject({ yaml: z.string() }),
    isYaml: true,
    output: z.object({
      object: z.literal('config.check'),
      usable: z.boolean(),
      revision: z.string().nullable(),
      problems: z.array(problem),
      warnings: z.array(problem),
      notices: z.array(z.string()),
    }),
    about: 'finds the mistakes of a config before a rollout; the body is the YAML of the file',
  },
  'plans.list': {
    method: 'GET',
    path: '/admin/v1/plans',
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: z.object({ object: z.literal('list'), data: z.array(plan) }),
    about: 'lists the plans of the config',
  },
} as const satisfies Record<string, Operation>

const day = z.iso.date()

export const accountOperations = {
  'accounts.retrieve': {
    method: 'GET',
    path: ACCOUNT,
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: account,
    about: "shows the account of a project, by the project's id; a token's `sub` names a personal one, too",
  },
  'accounts.update': {
    method: 'PATCH',
    path: ACCOUNT,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({
      plan: z.string().optional(),
      overage: z.boolean().optional(),
      suspended: z.boolean().optional(),
    }),
    output: account,
    about:
      "changes an account's plan or overage, from the very next request on; `suspended` refuses all its keys until it is `false` again",
  },
  'accounts.topUp': {
    method: 'POST',
    path: `${ACCOUNT}/top-ups`,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({ id: z.uuid(), amount: topUpAmount }),
    output: account,
    about: "adds to this month's allowance, in the plan's unit; the same `id` adds nothing more",
  },
  'accounts.usage': {
    method: 'GET',
    path: `${ACCOUNT}/usage`,
    service: 'edge',
    access: 'reader',
    query: z.strictObject({
      from: day,
      to: day,
      group_by: z.enum(usageGroupings).default('day'),
      session: z.string().optional(),
    }),
    body: nothing,
    output: snakeCasedSchema(accountUsageReply),
    about: "shows the usage of an account between two days; `account_id` is the account's tag or the project's id",
  },
  'accounts.mostUsage': {
    method: 'GET',
    path: '/admin/v1/usage',
    service: 'edge',
    access: 'reader',
    query: z.strictObject({ from: day, to: day, limit: z.coerce.number().int().min(1).max(1_000).default(20) }),
    body: nothing,
    output: snakeCasedSchema(usageByAccountReply),
    about: 'shows the usage of all accounts together, and of those that used most',
  },
} as const satisfies Record<string, Operation>

export const upkeepOperations = {
  'keys.revoke': {
    method: 'POST',
    path: '/admin/v1/keys/{key_id}/revoke',
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: z.object({ id: z.string(), object: z.literal('key.revoked'), account: z.string() }),
    about: 'ends any key by its id: no edge admits it from then on, and its open streams end',
  },
  'keys.reseal': {
    method: 'POST',
    path: '/admin/v1/keys/reseal',
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: z.object({ resealed: z.int(), is_complete: z.boolean() }),
    about: 'seals some keys under the newest secret of KEYS_MASTER_SECRET; repeat it until `is_complete`',
  },
  reconcile: {
    method: 'POST',
    path: '/admin/v1/reconcile',
    service: 'edge',
    access: 'owner',
    query: nothing,
    body: z.strictObject({ after: z.string().nullable().default(null), repair: z.boolean().default(false) }),
    output: z.object({
      object: z.literal('reconciliation'),
      /** The tags of the page's accounts. */
      accounts: z.array(z.string()),
      last_id: z.string().nullable(),
      has_more: z.boolean(),
      drifts: z.array(drift),
    }),
    about:
      'compares a page of accounts in the admission store with the ledger and the keys; `after` is the `last_id` before',
  },
} as const satisfies Record<string, Operation>
