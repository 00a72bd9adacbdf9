/**
 * `/admin/v1/me` and `/admin/v1/projects`: the rights of the caller, and projects with their spending and counts. The console
 * shows a page of projects from one call.
 */

import * as z from 'zod'
import { planUnit } from '../usage.ts'
import { usageTotals } from '../usage-api.ts'
import { cursor, flag, listOf, nothing, unixTime, type Operation } from './operation.ts'

const membershipRole = z.enum(['member', 'owner'])

export const meOperations = {
  'me.retrieve': {
    method: 'GET',
    path: '/admin/v1/me',
    service: 'keys',
    access: 'signed in',
    query: nothing,
    body: nothing,
    output: z.object({
      /** `user-…` of a person, `key_…` of an admin key. */
      id: z.string(),
      object: z.literal('me'),
      name: z.string(),
      email: z.string().nullable(),
      /** In the organization. */
      role: z.enum(['reader', 'owner']).nullable(),
      /** The person's own account, once there is one. */
      personal_project_id: z.string().nullable(),
      /** The number of shared projects that the person belongs to, without archived ones. */
      projects: z.int(),
    }),
    about: "shows the caller, the caller's role in the organization and the number of the caller's projects",
  },
} as const satisfies Record<string, Operation>

const projectView = z.object({
  id: z.string(),
  object: z.literal('project'),
  name: z.string().nullable(),
  created_at: unixTime,
  archived_at: unixTime.nullable(),
  status: z.enum(['active', 'suspended', 'archived']),
  personal: z.boolean(),
  plan: z.string(),
  unit: planUnit,
  overage: z.boolean(),
  /** Of this calendar month (UTC) in `unit`, as the ledger last reported it. */
  spent: z.number(),
  /** Requests beyond it are refused; null: overage is on, and the project has no spend limit. */
  limit: z.number().nullable(),
  limit_of: z.enum(['plan', 'spend_limit']).nullable(),
  /**
   * The effect of overage, where the caller may switch it: it serves requests `beyond` the plan's allowance with its top-ups, `up_to` the
   * spend limit. A former release has none.
   */
  overage_switch: z.object({ beyond: z.number(), up_to: z.number().nullable() }).nullable().default(null),
  /** Live ones. */
  keys: z.int(),
  /** Of the caller; an owner of the organization is one of each project. */
  your_role: membershipRole.nullable(),
})
export type ProjectView = z.input<typeof projectView>

const projectWithCounts = z.object({
  ...projectView.shape,
  service_accounts: z.int(),
  users: z.int(),
  groups: z.int(),
})

const ending = {
  /** Keys that end. */
  keys: z.int(),
  /** Requests of these keys that run now; null where the admission store does not reply. */
  open_requests: z.int().nullable(),
}

const PROJECTS = '/admin/v1/projects'
const PROJECT = `${PROJECTS}/{project_id}` as const

export const projectUsageGroupings = ['day', 'model', 'api_key', 'user', 'tag'] as const
const MOST_GROUPS = 1_000

const day = z.iso.date()
const { cached_tokens: _cached, ...figures } = usageTotals.shape

export const projectViewOperations = {
  'projectViews.list': {
    method: 'GET',
    path: PROJECTS,
    service: 'keys',
    access: 'signed in',
    query: z.strictObject({
      ...cursor,
      /** A part of the name, or the beginning of the id. */
      search: z.string().trim().max(256).optional(),
      include_archived: flag.default(false),
      include_personal: flag.default(false),
      /** Only those that the caller belongs to. */
      mine: flag.default(false),
      /** `usage`: those that have used most of their limit first. */
      order: z.enum(['newest', 'usage']).default('newest'),
    }),
    body: nothing,
    output: listOf(projectView),
    about: 'lists projects with the spending of the month and the limit; a caller without a role sees the own ones',
  },
  'projectViews.retrieve': {
    method: 'GET',
    path: PROJECT,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: projectWithCounts,
    about: 'shows a project with its spending and counts',
  },
  'projectViews.update': {
    method: 'PATCH',
    path: PROJECT,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: z.strictObject({ overage: z.boolean() }),
    output: projectWithCounts,
    about:
      "switches a project's overage from the very next request on, where `ownersSwitchOverage` of the plan lets its owners",
  },
  'projectViews.preview': {
    method: 'GET',
    path: `${PROJECT}/preview`,
    service: 'keys',
    access: 'project reader',
    query: z.strictObject({
      api_key_id: z.string().optional(),
      service_account_id: z.string().optional(),
      user_id: z.string().optional(),
      group_id: z.string().optional(),
    }),
    body: nothing,
    output: z.object({ object: z.literal('project.preview'), ...ending }),
    about:
      'counts the keys that would end, and their open requests, with the project, one key, a service account, a member or a group',
  },
  'projectViews.usage': {
    method: 'GET',
    path: `${PROJECT}/usage`,
    service: 'metering',
    access: 'project reader',
    query: z.strictObject({
      from: day,
      to: day,
      group_by: z.enum(projectUsageGroupings).default('day'),
      limit: z.coerce.number().int().min(1).max(MOST_GROUPS).default(100),
    }),
    body: nothing,
    output: z.object({
      object: z.literal('project.usage'),
      from: day,
      to: day,
      group_by: z.enum(projectUsageGroupings),
      /** Days in order, all others by their cost, most first. `name`: null for requests without one. */
      data: z.array(z.object({ name: z.string().nullable(), ...figures })),
      /** Of all groups. With tags, a request counts once for each of its tags, so there are none. */
      totals: z.object(figures).nullable(),
      has_more: z.boolean(),
    }),
    about: "sums a project's usage between two days by day, model, key, person or tag",
  },
  'users.preview': {
    method: 'GET',
    path: '/admin/v1/users/{user_id}/preview',
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: z.object({
      object: z.literal('user.preview'),
      ...ending,
      /** Memberships that end. */
      projects: z.int(),
    }),
    about: 'counts the keys, open requests and memberships that would end with a person',
  },
} as const satisfies Record<string, Operation>

export type ProjectUsageGrouping = (typeof projectUsageGroupings)[number]
