/**
 * The queries of the pages. Components that show the same data share one request. After a failure that a retry may mend,
 * the query retries by itself.
 */

import { tierCatalog } from '@gateway/contracts/catalog'
import { developerKeyListResponse } from '@gateway/contracts/developer-keys-api'
import { quotaRecord } from '@gateway/contracts/metering-api'
import { planRecord } from '@gateway/contracts/plan-api'
import { usageRecord, type UsageQuery } from '@gateway/contracts/usage-api'
import {
  keepPreviousData,
  QueryClient,
  useQuery,
  useQueryClient,
  type QueryKey,
  type UseQueryOptions,
  type UseQueryResult,
} from '@tanstack/react-query'
import type * as z from 'zod'
import { sendRequest, GatewayProblem, type RequestOptions } from './send-request.ts'
import { useCaller } from './use-caller.ts'

const RETRY_MS = 5_000
const REFETCH_MS = 10_000
const STALE_AFTER_MS = 15_000

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        networkMode: 'always',
        staleTime: STALE_AFTER_MS,
        retry: false,
        refetchInterval: ({ state }) => nextTryMs(state.error),
      },
      mutations: { networkMode: 'always' },
    },
  })
}

/** A query retries by itself only where a retry can help. */
function nextTryMs(error: unknown): number | false {
  return error instanceof GatewayProblem && error.problem.mayPass ? RETRY_MS : false
}

export type KeyList = z.infer<typeof developerKeyListResponse>
export type ListedKey = KeyList['data'][number]

export function useKeys() {
  return useGatewayQuery(['keys'], '/v1/keys/developer', developerKeyListResponse)
}

export function activeKeyOf(keys: Pick<KeyList, 'data'> | undefined): ListedKey | undefined {
  return keys?.data.find(({ status }) => status === 'active')
}

export function useQuota() {
  return useGatewayQuery(['account', 'quota'], '/billing/quota', quotaRecord, {
    staleTime: 0,
    // Applications use the allowance meanwhile: an open page follows it.
    refetchInterval: ({ state }) => (state.error ? nextTryMs(state.error) : REFETCH_MS),
  })
}

/** The gateway reads the plan through the account's active key, so the query runs only while there is one. */
export function usePlan() {
  const enabled = activeKeyOf(useKeys().data) !== undefined
  return useGatewayQuery(['account', 'plan'], '/v1/plan', planRecord, { enabled })
}

/** The catalog is the same for every token. */
export function useCatalog() {
  return useGatewayQuery(['catalog'], '/v1/catalog?view=tiers', tierCatalog, {}, { isPublic: true })
}

/** The response states its first and last day. */
export function useUsage(query: Record<string, string> & Pick<UsageQuery, 'group_by'>, enabled = true) {
  const path = `/v1/usage?${new URLSearchParams(query)}`
  return useGatewayQuery(['usage', query], path, usageRecord, { placeholderData: keepPreviousData, enabled })
}

function useGatewayQuery<Schema extends z.ZodType>(
  queryKey: QueryKey,
  path: string,
  schema: Schema,
  options: Omit<UseQueryOptions<z.infer<Schema>>, 'queryKey' | 'queryFn'> = {},
  request: RequestOptions = {},
): UseQueryResult<z.infer<Schema>> {
  const caller = useCaller()
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => sendRequest(caller, path, schema, { ...request, signal }),
    ...options,
  })
}

/** A request of the playground changes the account's usage: the pages fetch it again. */
export function useRefreshAccount(): () => void {
  const client = useQueryClient()
  return () => {
    for (const queryKey of [['account', 'quota'], ['usage'], ['keys']]) void client.invalidateQueries({ queryKey })
  }
}
