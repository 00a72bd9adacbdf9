/**
 * What an account used on some days, by day or by the model that was asked for.
 */

import { accountUsageRequest, type AccountUsageReply } from '@gateway/contracts/metering-api'
import type { Queryable } from '@gateway/postgres/database'
import { readAccountUsage } from '../db/daily-usage.ts'

export async function accountUsage(
  { database }: { database: Queryable },
  question: unknown,
): Promise<AccountUsageReply> {
  return { groups: await readAccountUsage(database, accountUsageRequest.parse(question)) }
}
