/**
 * The usage on some days: of one account by day or by requested model, or of all accounts together.
 */

import type {
  AccountUsageReply,
  AccountUsageRequest,
  UsageByAccountReply,
  UsageByAccountRequest,
} from '@gateway/contracts/metering-api'
import { readAccountUsage, readUsageByAccount } from '../db/daily-usage.ts'
import type { MeteringDatabase } from '../db/tables.ts'

interface UsageContext {
  database: MeteringDatabase
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
