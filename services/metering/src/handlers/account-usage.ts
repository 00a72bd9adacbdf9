/**
 * What was used on some days: by one account, by day or by the model that was asked for; and by all accounts together.
 */

import type {
  AccountUsageReply,
  AccountUsageRequest,
  UsageByAccountReply,
  UsageByAccountRequest,
} from '@gateway/contracts/metering-api'
import type { Queryable } from '@gateway/postgres/database'
import { readAccountUsage, readUsageByAccount } from '../db/daily-usage.ts'

interface UsageContext {
  database: Queryable
}

export async function accountUsage(
  { database }: UsageContext,
  question: AccountUsageRequest,
): Promise<AccountUsageReply> {
  return { groups: await readAccountUsage(database, question) }
}

export function usageByAccount(
  { database }: UsageContext,
  question: UsageByAccountRequest,
): Promise<UsageByAccountReply> {
  return readUsageByAccount(database, question)
}
