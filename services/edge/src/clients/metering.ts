/**
 * Typed calls to the metering service.
 */

import type { Bus } from '@gateway/bus/port'
import {
  accountUsageReply,
  quotaReply,
  warmReply,
  type AccountUsageRequest,
  type QuotaReply,
  type UsageGroup,
} from '@gateway/contracts/metering-api'
import { subjects } from '@gateway/contracts/subjects'
import type { PlanUnit } from '@gateway/contracts/usage'
import { ask } from './ask.ts'

export interface MeteringClient {
  /** Writes the account's window total into the admission store. */
  warm(account: string): Promise<void>
  quota(request: { account: string; unit: PlanUnit }): Promise<QuotaReply>
  usage(request: AccountUsageRequest): Promise<UsageGroup[]>
}

export function createMeteringClient(bus: Bus): MeteringClient {
  return {
    async warm(account) {
      await ask(bus, subjects.meteringWarm, { account }, warmReply, { repeatable: true })
    },
    quota: (request) => ask(bus, subjects.meteringQuota, request, quotaReply, { repeatable: true }),
    async usage(request) {
      const question = { repeatable: true }
      return (await ask(bus, subjects.meteringAccountUsage, request, accountUsageReply, question)).groups
    },
  }
}
