/**
 * The gateway's facts on the pages, each asked once and shared by all that show it. After a failure that can pass, the
 * query asks again by itself.
 */

import { tierCatalog } from '@gateway/contracts/catalog'
import { developerKeyListResponse } from '@gateway/contracts/developer-keys-api'
import { quotaRecord } from '@gateway/contracts/metering-api'
import { planRecord } from '@gateway/contracts/plan-api'
import { usageRecord, type UsageQuery } from '@gateway/contracts/usage-api'
import { QueryClient, useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query'
import type * as z from 'zod'
import { ask, GatewayProblem } from './ask.ts'
import { useCaller } from './use-caller.ts'

const ASK_AGAIN_MS = 5_000
const LOOK_AGAIN_MS = 10_000
const FRESH_FOR_MS = 15_000

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        networkMode: 'always',
        staleTime: FRESH_FOR_MS,
        retry: false,
        refetchInterval: ({ state }) => nextTryMs(state.error),
      },
      mutations: { networkMode: 'always' },
    },
  })
}

/** Only what can pass is asked again by itself. */
function nextTryMs(error: unknown): number | false {
  return error instanceof GatewayProblem && error.problem.mayPass ? ASK_AGAIN_MS : false
}

export type KeyList = z.infer<typeof developerKeyListResponse>
export type ListedKey = KeyList['data'][number]

export function useKeys(): UseQueryResult<KeyList> {
  const caller = useCaller()
  return useQuery({
    queryKey: ['keys'],
    queryFn: ({ signal }) => ask(caller, '/v1/keys/developer', developerKeyListResponse, { signal }),
  })
}

export function activeKeyOf(keys: KeyList | undefined): ListedKey | undefined {
  return keys?.data.find(({ status }) => status === 'active')
}

/** Answered through the account's active key: ask while there is one. */
export function useQuota(enabled: boolean) {
  const caller = useCaller()
  return useQuery({
    queryKey: ['account', 'quota'],
    queryFn: ({ signal }) => ask(caller, '/billing/quota', quotaRecord, { signal }),
    enabled,
    staleTime: 0,
    // What applications use shows while one looks.
    refetchInterval: ({ state }) => (state.error ? nextTryMs(state.error) : LOOK_AGAIN_MS),
  })
}

export function usePlan(enabled: boolean) {
  const caller = useCaller()
  return useQuery({
    queryKey: ['account', 'plan'],
    queryFn: ({ signal }) => ask(caller, '/v1/plan', planRecord, { signal }),
    enabled,
  })
}

export function useCatalog() {
  const caller = useCaller()
  return useQuery({
    queryKey: ['catalog'],
    queryFn: ({ signal }) => ask(caller, '/v1/catalog?view=tiers', tierCatalog, { isPublic: true, signal }),
  })
}

/** The answer says which days it has. */
export function useUsage(query: Record<string, string> & Pick<UsageQuery, 'group_by'>, enabled = true) {
  const caller = useCaller()
  return useQuery({
    queryKey: ['usage', query],
    queryFn: ({ signal }) => ask(caller, `/v1/usage?${new URLSearchParams(query)}`, usageRecord, { signal }),
    placeholderData: (previous) => previous,
    enabled,
  })
}

/** After a request of one's own: what was used has changed. */
export function useRefreshAccount(): () => void {
  const client = useQueryClient()
  return () => {
    for (const queryKey of [['account', 'quota'], ['usage'], ['keys']]) void client.invalidateQueries({ queryKey })
  }
}
