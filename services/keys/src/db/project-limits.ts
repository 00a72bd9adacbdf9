/**
 * The limits of projects beside their plan. A writer holds the account's lock.
 */

import { sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

export interface ProjectLimits {
  spendCents: number | null
  allowanceTokens: number | null
  models: { mode: 'allow_list' | 'deny_list'; ids: string[] } | null
  hostedTools: string[]
  policyVersion: number
}

/** The limits of a project that nobody has changed. */
const UNCHANGED: ProjectLimits = {
  spendCents: null,
  allowanceTokens: null,
  models: null,
  hostedTools: [],
  policyVersion: 0,
}

export async function readProjectLimits(
  database: KeysDatabase,
  accounts: readonly string[],
): Promise<Map<string, ProjectLimits>> {
  const rows = await database
    .selectFrom('keys.project_limits')
    .selectAll()
    .where('account', '=', sql<string>`any(${accounts}::text[])`)
    .execute()
  const held = new Map(
    rows.map((row): [string, ProjectLimits] => [
      row.account,
      {
        spendCents: row.spend_cents,
        allowanceTokens: row.allowance_tokens,
        models: row.model_mode && { mode: row.model_mode, ids: row.model_ids },
        hostedTools: row.hosted_tools,
        policyVersion: row.policy_version,
      },
    ]),
  )
  return new Map(accounts.map((account) => [account, held.get(account) ?? UNCHANGED]))
}

export async function writeProjectLimits(
  transaction: KeysDatabase,
  account: string,
  { spendCents, allowanceTokens, models, hostedTools, policyVersion }: ProjectLimits,
): Promise<void> {
  const values = {
    spend_cents: spendCents,
    allowance_tokens: allowanceTokens,
    model_mode: models?.mode ?? null,
    model_ids: models?.ids ?? [],
    hosted_tools: hostedTools,
    policy_version: policyVersion,
  }
  await transaction
    .insertInto('keys.project_limits')
    .values({ account, ...values })
    .onConflict((conflict) => conflict.column('account').doUpdateSet(values))
    .execute()
}

export interface StoredModelLimits {
  model: string
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  requestsPerDay: number | null
}

/** By account, in the order of the models' ids. */
export async function readModelLimits(
  database: KeysDatabase,
  accounts: readonly string[],
): Promise<Map<string, StoredModelLimits[]>> {
  const rows = await database
    .selectFrom('keys.model_limits')
    .select([
      'account',
      'model',
      'requests_per_minute as requestsPerMinute',
      'tokens_per_minute as tokensPerMinute',
      'requests_per_day as requestsPerDay',
    ])
    .where('account', '=', sql<string>`any(${accounts}::text[])`)
    .orderBy(sql`model collate "C"`)
    .execute()
  const byAccount = new Map<string, StoredModelLimits[]>(accounts.map((account) => [account, []]))
  for (const { account, ...limits } of rows) byAccount.get(account)!.push(limits)
  return byAccount
}

/** Replaces the limits for the model; with none left it has no row. */
export async function writeModelLimits(
  transaction: KeysDatabase,
  account: string,
  { model, requestsPerMinute, tokensPerMinute, requestsPerDay }: StoredModelLimits,
): Promise<void> {
  if (requestsPerMinute === null && tokensPerMinute === null && requestsPerDay === null) {
    await transaction
      .deleteFrom('keys.model_limits')
      .where((is) => is.and({ account, model }))
      .execute()
    return
  }
  const values = {
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    requests_per_day: requestsPerDay,
  }
  await transaction
    .insertInto('keys.model_limits')
    .values({ account, model, ...values })
    .onConflict((conflict) => conflict.columns(['account', 'model']).doUpdateSet(values))
    .execute()
}
