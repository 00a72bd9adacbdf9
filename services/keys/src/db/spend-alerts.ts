/**
 * Spend alerts, of one account or of all together. An alert that is reached becomes an event once for each month and threshold.
 */

import { sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

export interface SpendAlertSettings {
  thresholdCents: number | null
  allowanceTokens: number | null
  recipients: string[]
  subjectPrefix: string | null
}

export interface SpendAlertRow extends SpendAlertSettings {
  id: string
}

/** Null: the organization's. */
type Owner = string | null

const ALERT = [
  'id',
  'threshold_cents as thresholdCents',
  'allowance_tokens as allowanceTokens',
  'recipients',
  'subject_prefix as subjectPrefix',
] as const

export function listAlerts(database: KeysDatabase, account: Owner): Promise<SpendAlertRow[]> {
  return database
    .selectFrom('keys.spend_alerts')
    .select(ALERT)
    .where('account', 'is not distinct from', account)
    .execute()
}

export function findAlert(database: KeysDatabase, account: Owner, id: string): Promise<SpendAlertRow | undefined> {
  return database
    .selectFrom('keys.spend_alerts')
    .select(ALERT)
    .where('id', '=', id)
    .where('account', 'is not distinct from', account)
    .executeTakeFirst()
}

function columnsOf({ thresholdCents, allowanceTokens, recipients, subjectPrefix }: SpendAlertSettings) {
  return {
    threshold_cents: thresholdCents,
    allowance_tokens: allowanceTokens,
    recipients,
    subject_prefix: subjectPrefix,
  }
}

export async function insertAlert(transaction: KeysDatabase, account: Owner, alert: SpendAlertRow): Promise<void> {
  await transaction
    .insertInto('keys.spend_alerts')
    .values({ id: alert.id, account, ...columnsOf(alert) })
    .execute()
}

export async function changeAlert(transaction: KeysDatabase, id: string, settings: SpendAlertSettings): Promise<void> {
  await transaction
    .updateTable('keys.spend_alerts')
    .set({ ...columnsOf(settings), changed_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

export async function deleteAlert(transaction: KeysDatabase, id: string): Promise<void> {
  await transaction.deleteFrom('keys.spend_alerts').where('id', '=', id).execute()
}

/** Writers of the organization's alerts take turns. */
export async function lockOrganizationAlerts(transaction: KeysDatabase): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('keys.spend_alerts', 0))`.execute(transaction)
}

/** Notes the alerts that the totals of these months have reached, and returns the ids of the new events. */
export async function noteReachedAlerts(database: KeysDatabase, windows: readonly string[]): Promise<{ id: string }[]> {
  if (windows.length === 0) return []
  const { rows } = await sql<{ id: string }>`
    with total as (
      select account, "window", milli_tokens::numeric, nano_usd::numeric from keys.spending
      where "window" = any(${windows}::text[]) and account in (select account from keys.spend_alerts)
      union all
      select null, "window", milli_tokens, nano_usd from keys.organization_spending
      where "window" = any(${windows}::text[])
    ), measured as (
      select alert.*, total."window", unit, threshold, used
      from keys.spend_alerts alert
      join total on total.account is not distinct from alert.account
        and total."window" >= to_char(alert.changed_at at time zone 'utc', 'YYYY-MM')
      cross join lateral (values
        ('usd', alert.threshold_cents::numeric / 100, total.nano_usd / 1000000000),
        ('tokens', alert.allowance_tokens::numeric, total.milli_tokens / 1000)
      ) as measure (unit, threshold, used)
    )
    insert into keys.events (id, kind, payload)
    select measured.id || '.' || "window" || '.' || unit || '.' || trim_scale(threshold), 'spend_alert',
      jsonb_build_object(
        'alertId', measured.id, 'scope', case when measured.account is null then 'organization' else 'project' end,
        'account', measured.account, 'accountKind', owner.kind, 'projectName', project.name,
        'window', "window", 'unit', unit, 'threshold', threshold, 'used', used,
        'recipients', recipients, 'subjectPrefix', subject_prefix,
        'passedAt', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    from measured
    left join keys.accounts owner on owner.tag = measured.account
    left join keys.projects project on project.account = measured.account
    where used >= threshold
    on conflict (id) do nothing
    returning id`.execute(database)
  return rows
}
