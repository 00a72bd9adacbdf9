/**
 * Projects with their spending, limit and counts, each page in one statement. The sums that metering last reported give the
 * spending, so a list reads no ledger.
 */

import type { PlanUnit } from '@gateway/contracts/usage'
import { type RawBuilder, sql } from 'kysely'
import type { MembershipRole } from '../core/access.ts'
import { type Member, membershipsOf } from './memberships.ts'
import type { Page } from './project-keys.ts'
import { isLive } from './projects.ts'
import type { KeysDatabase } from './tables.ts'

/** A plan of the config, in the smallest unit. */
export interface PlanOfView {
  slug: string
  unit: PlanUnit
  limit: number
}

export interface ProjectViewRow {
  tag: string
  kind: 'developer' | 'project'
  name: string | null
  plan: string
  overage: boolean
  createdAt: Date
  archivedAt: Date | null
  isSuspended: boolean
  unit: PlanUnit
  spent: number
  /** Of the plan, with the month's top-ups. */
  planLimit: number
  hardLimit: number | null
  keys: number
  membership: MembershipRole | null
}

interface Viewed {
  plans: readonly PlanOfView[]
  member: Member | null
}

const WINDOW = sql`to_char(now() at time zone 'utc', 'YYYY-MM')`
/** The limit that refuses; null where overage passes the plan's and there is no other. */
const LIMIT = sql`case when overage then "hardLimit" else least("planLimit", "hardLimit") end`
const SHARE = sql`case when ${LIMIT} is null then -1 when ${LIMIT} = 0 then 1 else spent::float8 / ${LIMIT} end`

/** An account on a plan that the config no longer has counts in tokens. */
function views({ plans, member }: Viewed, where: RawBuilder<unknown>): RawBuilder<ProjectViewRow> {
  const mine = member ? membershipsOf(member) : sql`select null::text as account, null::text as role where false`
  return sql<ProjectViewRow>`
    with plans as (
      select * from jsonb_to_recordset(${JSON.stringify(plans)}::jsonb) as plan (slug text, unit text, "limit" bigint)
    ),
    mine as (${mine}),
    extra as (
      select account, unit, sum(amount)::bigint as amount from keys.top_ups where "window" = ${WINDOW} group by 1, 2
    ),
    found as (
      select account.tag, account.kind, project.name, account.plan, account.overage,
        account.created_at as "createdAt", project.archived_at as "archivedAt",
        account.suspended_at is not null as "isSuspended", coalesce(plans.unit, 'tokens') as unit,
        coalesce(case when plans.unit = 'usd' then spending.nano_usd else spending.milli_tokens end, 0) as spent,
        coalesce(plans."limit", 0) + coalesce(extra.amount, 0) as "planLimit",
        case when plans.unit = 'usd' then limits.spend_cents * 10000000 else limits.allowance_tokens * 1000 end as "hardLimit",
        mine.role as membership
      from keys.accounts account
      left join keys.projects project on project.account = account.tag
      left join plans on plans.slug = account.plan
      left join keys.spending spending on spending.account = account.tag and spending."window" = ${WINDOW}
      left join extra on extra.account = account.tag and extra.unit = coalesce(plans.unit, 'tokens')
      left join keys.project_limits limits on limits.account = account.tag
      left join mine on mine.account = account.tag
      where account.kind <> 'guest' and ${where}
    )`
}

/** Counted for the rows of a page alone. */
const WITH_KEYS = sql`select page.*, (
    select count(*) from keys.project_keys key where key.account = page.tag and key.deactivated_at is null
  )::int + (
    select count(*) from keys.keys own where own.account = page.tag and own.status <> 'deactivated'
  )::int as keys`

export interface ProjectViewList extends Viewed {
  after: string | undefined
  limit: number
  search: string | undefined
  withArchived: boolean
  withPersonal: boolean
  mine: boolean
  order: 'newest' | 'usage'
}

/** Null where the caller sees no project of the tag `after`. A project that has left the list since its page was read is a cursor, too. */
export async function listProjectViews(
  database: KeysDatabase,
  { after, limit, search, withArchived, withPersonal, mine, order, ...viewed }: ProjectViewList,
): Promise<Page<ProjectViewRow> | null> {
  const isVisible = mine ? sql`mine.role is not null` : sql`true`
  if (after !== undefined && !(await isThere(database, viewed, after, isVisible))) return null
  const filters = [
    withArchived ? sql`true` : isLive,
    withPersonal ? sql`true` : sql`account.kind = 'project'`,
    isVisible,
    search ? matches(search) : sql`true`,
  ]
  const isByUsage = order === 'usage'
  const rest = isByUsage ? usedLess(after) : olderThan(after)
  const by = isByUsage ? sql`${SHARE} desc, "createdAt" desc, tag desc` : sql`"createdAt" desc, tag desc`
  const isListed = sql.join(filters, sql` and `)
  // A list by usage goes on after the place of its last project, which the filters may leave out by now.
  const isFound = isByUsage && after !== undefined ? sql`((${isListed}) or account.tag = ${after})` : isListed
  const { rows } = await sql<ProjectViewRow>`
    ${views(viewed, isFound)},
    page as (select *, ${SHARE} as share from found where ${rest} order by ${by} limit ${limit + 1})
    ${WITH_KEYS} from page order by ${isByUsage ? sql`share desc,` : sql``} "createdAt" desc, tag desc`.execute(
    database,
  )
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}

/** Reads no more of the accounts than the page, by their index. */
function olderThan(after: string | undefined): RawBuilder<unknown> {
  return after === undefined
    ? sql`true`
    : sql`("createdAt", tag) < (select created_at, tag from keys.accounts where tag = ${after})`
}

function usedLess(after: string | undefined): RawBuilder<unknown> {
  const rank = sql`${SHARE}, "createdAt", tag`
  return after === undefined ? sql`true` : sql`(${rank}) < (select ${rank} from found where tag = ${after})`
}

async function isThere(
  database: KeysDatabase,
  viewed: Viewed,
  tag: string,
  isVisible: RawBuilder<unknown>,
): Promise<boolean> {
  const { rows } = await sql`
    ${views(viewed, sql`${isVisible} and account.tag = ${tag}`)} select from found`.execute(database)
  return rows.length > 0
}

export async function findProjectView(
  database: KeysDatabase,
  viewed: Viewed,
  tag: string,
): Promise<(ProjectViewRow & { serviceAccounts: number; users: number; groups: number }) | undefined> {
  const { rows } = await sql<ProjectViewRow & { serviceAccounts: number; users: number; groups: number }>`
    ${views(viewed, sql`account.tag = ${tag}`)},
    page as (
      select *,
        (select count(*) from keys.service_accounts where account = tag and deleted_at is null)::int as "serviceAccounts",
        (select count(*) from keys.project_users where account = tag)::int as users,
        (select count(*) from keys.project_groups where account = tag)::int as groups
      from found
    )
    ${WITH_KEYS} from page`.execute(database)
  return rows[0]
}

/** A part of the name in any case, or the beginning of the id. */
function matches(search: string): RawBuilder<unknown> {
  return sql`(position(lower(${search}) in lower(project.name)) > 0 or starts_with('proj_' || account.tag, ${search}))`
}

/** The living keys that a change would end, by account. */
export async function keysThatEnd(
  database: KeysDatabase,
  of: { account: string; keyId?: string; serviceAccount?: string; userId?: string },
): Promise<string[]> {
  const rows = await database
    .selectFrom('keys.project_keys')
    .select('key_id as keyId')
    .where('account', '=', of.account)
    .where('deactivated_at', 'is', null)
    .$if(of.keyId !== undefined, (keys) => keys.where('key_id', '=', of.keyId!))
    .$if(of.serviceAccount !== undefined, (keys) => keys.where('service_account', '=', of.serviceAccount!))
    .$if(of.userId !== undefined, (keys) => keys.where('created_by', '=', of.userId!))
    .execute()
  return rows.map(({ keyId }) => keyId)
}

/** The living keys of people who would no longer see the project without the group. */
export async function keysThatEndWithGroup(
  database: KeysDatabase,
  account: string,
  groupId: string,
): Promise<string[]> {
  const { rows } = await sql<{ keyId: string }>`
    select key.key_id as "keyId" from keys.project_keys key
    join keys.users person on person.id = key.created_by
    where key.account = ${account} and key.deactivated_at is null and not (person.removed_at is null and (
      person.role = 'owner'
      or exists (select from keys.project_users where account = key.account and user_id = person.id)
      or exists (
        select from keys.groups named join keys.project_groups membership on membership.group_id = named.id
        where membership.account = key.account and membership.group_id <> ${groupId} and named.name = any(person.groups)
      )
    ) is true)`.execute(database)
  return rows.map(({ keyId }) => keyId)
}

/** The projects in which a person has keys that live, with those keys. */
export async function keysOfPerson(database: KeysDatabase, userId: string): Promise<Map<string, string[]>> {
  const rows = await database
    .selectFrom('keys.project_keys')
    .select(['account', 'key_id as keyId'])
    .where('created_by', '=', userId)
    .where('deactivated_at', 'is', null)
    .execute()
  const byAccount = Map.groupBy(rows, ({ account }) => account)
  return new Map([...byAccount].map(([account, keys]) => [account, keys.map(({ keyId }) => keyId)]))
}

export async function countMemberships(database: KeysDatabase, userId: string): Promise<number> {
  const { count } = await database
    .selectFrom('keys.project_users')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

/** A person's own account, and the number of shared projects without archived ones. */
export async function findOwnProjects(
  database: KeysDatabase,
  member: Member,
): Promise<{ personal: string | null; shared: number }> {
  const { rows } = await sql<{ personal: string | null; shared: number }>`
    select max(account.tag) filter (where account.kind = 'developer') as personal,
      count(*) filter (where account.kind = 'project' and project.archived_at is null)::int as shared
    from (${membershipsOf(member)}) mine
    join keys.accounts account on account.tag = mine.account
    left join keys.projects project on project.account = account.tag`.execute(database)
  return rows[0]!
}
