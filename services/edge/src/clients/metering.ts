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
import { shareCalls } from './share-calls.ts'

export interface MeteringClient {
  /** Writes the account's window total into the admission store, once for all requests that find it cold at once. */
  warm(account: string): Promise<void>
  quota(request: { account: string; unit: PlanUnit }): Promise<QuotaReply>
  usage(request: AccountUsageRequest): Promise<UsageGroup[]>
}

export function createMeteringClient(bus: Bus): MeteringClient {
  return {
    warm: shareCalls(
      (account) => account,
      async (account) => {
        await ask(bus, subjects.meteringWarm, { account }, warmReply, { repeatable: true })
      },
    ),
    quota: (request) => ask(bus, subjects.meteringQuota, request, quotaReply, { repeatable: true }),
    async usage(request) {
      const question = { repeatable: true }
      return (await ask(bus, subjects.meteringAccountUsage, request, accountUsageReply, question)).groups
    },
  }
}
