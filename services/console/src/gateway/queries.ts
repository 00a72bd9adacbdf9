/**
 * The gateway's facts on the pages, each asked once and shared by all that show it. After a failure that can pass, the
 * query asks again by itself.
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
import { sendRequest, GatewayProblem, type Question } from './ask.ts'
import { useCaller } from './use-caller.ts'

const RETRY_MS = 5_000
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
  return error instanceof GatewayProblem && error.problem.mayPass ? RETRY_MS : false
}

export type KeyList = z.infer<typeof developerKeyListResponse>
export type ListedKey = KeyList['data'][number]

export function useKeys() {
  return useFact(['keys'], '/v1/keys/developer', developerKeyListResponse)
}

export function activeKeyOf(keys: Pick<KeyList, 'data'> | undefined): ListedKey | undefined {
  return keys?.data.find(({ status }) => status === 'active')
}

export function useQuota() {
  return useFact(['account', 'quota'], '/billing/quota', quotaRecord, {
    staleTime: 0,
    // What applications use shows while one looks.
    refetchInterval: ({ state }) => (state.error ? nextTryMs(state.error) : LOOK_AGAIN_MS),
  })
}

/** Answered through the account's active key: asked while there is one. */
export function usePlan() {
  const enabled = activeKeyOf(useKeys().data) !== undefined
  return useFact(['account', 'plan'], '/v1/plan', planRecord, { enabled })
}

/** Everybody gets the same answer, whatever their token. */
export function useCatalog() {
  return useFact(['catalog'], '/v1/catalog?view=tiers', tierCatalog, {}, { isPublic: true })
}

/** The answer says which days it has. */
export function useUsage(query: Record<string, string> & Pick<UsageQuery, 'group_by'>, enabled = true) {
  const path = `/v1/usage?${new URLSearchParams(query)}`
  return useFact(['usage', query], path, usageRecord, { placeholderData: keepPreviousData, enabled })
}

function useFact<Schema extends z.ZodType>(
  queryKey: QueryKey,
  path: string,
  schema: Schema,
  options: Omit<UseQueryOptions<z.infer<Schema>>, 'queryKey' | 'queryFn'> = {},
  question: Question = {},
): UseQueryResult<z.infer<Schema>> {
  const caller = useCaller()
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => sendRequest(caller, path, schema, { ...question, signal }),
    ...options,
  })
}

/** After a request of one's own: what was used has changed. */
export function useRefreshAccount(): () => void {
  const client = useQueryClient()
  return () => {
    for (const queryKey of [['account', 'quota'], ['usage'], ['keys']]) void client.invalidateQueries({ queryKey })
  }
}
