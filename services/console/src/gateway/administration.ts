/**
 * The calls of the administration API, typed by their table: `/v1/organization` and `/admin/v1`. A page names a call and its input,
 * and gets output that matches the contract's schema. After a change, the pages fetch again.
 */

import type { NamesIn, Operation } from '@gateway/contracts/administration/operation'
import { operations, type OperationName } from '@gateway/contracts/administration/operations'
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  type QueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from '@tanstack/react-query'
import type * as z from 'zod'
import { sendRequest, type Caller } from './send-request.ts'
import { useCaller } from './use-caller.ts'

type Row<Name extends OperationName> = (typeof operations)[Name]
type Members<Schema extends z.ZodObject> = keyof Schema['shape'] extends never ? unknown : z.input<Schema>

/** The members of path, query and body in one object, as a client writes them. */
export type CallInput<Name extends OperationName> = Record<NamesIn<Row<Name>['path']>, string> &
  Members<Row<Name>['query']> &
  Members<Row<Name>['body']>
export type CallOutput<Name extends OperationName> = z.output<Row<Name>['output']>

export function call<Name extends OperationName>(
  caller: Caller,
  name: Name,
  input: CallInput<Name>,
  signal?: AbortSignal,
): Promise<CallOutput<Name>> {
  const row: Operation = operations[name]
  const { path, body } = requestOf(row, input)
  const options = { method: row.method, ...(body && { body }), ...(signal && { signal }) }
  return sendRequest(caller, path, row.output as z.ZodType<CallOutput<Name>>, options)
}

/** Exported for its test. */
export function requestOf(row: Operation, input: Record<string, unknown>): { path: string; body: object | undefined } {
  const used = new Set<string>()
  const path = row.path.replace(/\{(\w+)\}/g, (_placeholder, name: string) => {
    used.add(name)
    return encodeURIComponent(String(input[name]))
  })
  const query = new URLSearchParams()
  for (const name of Object.keys(row.query.shape)) {
    if (used.has(name)) continue
    used.add(name)
    const value = input[name]
    if (Array.isArray(value)) for (const item of value) query.append(`${name}[]`, String(item))
    else if (isMembers(value))
      for (const [member, text] of Object.entries(value)) query.set(`${name}[${member}]`, String(text))
    else if (isText(value) && value !== '') query.set(name, String(value))
  }
  const rest = Object.entries(input).filter(([name, value]) => !used.has(name) && value !== undefined)
  const hasBody = Object.keys(row.body.shape).length > 0
  return { path: query.size > 0 ? `${path}?${query}` : path, body: hasBody ? Object.fromEntries(rest) : undefined }
}

function isText(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

interface OperationOptions {
  enabled?: boolean
  /** Shows the former data while those of another input come. */
  keepsPrevious?: boolean
  /** An open page fetches again after this time. */
  everyMs?: number | false
  /** Fetches each time that a component begins to show it. */
  isFresh?: boolean
}

export function useOperation<Name extends OperationName>(
  name: Name,
  input: CallInput<Name>,
  { enabled = true, keepsPrevious = false, everyMs, isFresh = false }: OperationOptions = {},
): UseQueryResult<CallOutput<Name>> {
  const caller = useCaller()
  return useQuery({
    queryKey: ['administration', name, input],
    queryFn: ({ signal }) => call(caller, name, input, signal),
    enabled,
    ...(isFresh && { staleTime: 0, gcTime: 0 }),
    ...(keepsPrevious && { placeholderData: keepPreviousData }),
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  })
}

/** Lists, whose output has `data` and `has_more`. */
type Listed = { data: readonly unknown[]; has_more: boolean; last_id?: string | null; next?: string | null }
export type ListName = {
  [Name in OperationName]: CallOutput<Name> extends Listed
    ? CallInput<Name> extends { after?: string | undefined }
      ? Name
      : never
    : never
}[OperationName]
export type ItemOf<Name extends ListName> = CallOutput<Name>['data'][number]

/** A list by pages. `items`: those that are fetched; undefined until the first page has come. */
export interface PagedItems<Item> {
  items: Item[] | undefined
  error: Error | null
  hasMore: boolean
  isFetching: boolean
  isFetchingMore: boolean
  fetchMore(): void
  tryAgain(): void
}

export function useOperationPages<Name extends ListName>(
  name: Name,
  input: CallInput<Name>,
  { enabled = true, everyMs = false }: Pick<OperationOptions, 'enabled' | 'everyMs'> = {},
): PagedItems<ItemOf<Name>> {
  const caller = useCaller()
  const pages = useInfiniteQuery({
    queryKey: ['administration', name, 'pages', input],
    queryFn: ({ signal, pageParam: after }): Promise<Listed> =>
      call(caller, name, after === null ? input : { ...input, after }, signal) as Promise<Listed>,
    initialPageParam: null as string | null,
    getNextPageParam: nextOf,
    placeholderData: keepPreviousData,
    enabled,
    refetchInterval: everyMs,
  })
  const { data, error, hasNextPage, isFetching, isFetchingNextPage } = pages
  return {
    items: data?.pages.flatMap((page) => page.data as ItemOf<Name>[]),
    error,
    hasMore: hasNextPage,
    isFetching,
    isFetchingMore: isFetchingNextPage,
    fetchMore: () => void pages.fetchNextPage(),
    tryAgain: () => void pages.refetch(),
  }
}

function nextOf({ has_more: hasMore, next, last_id: lastId }: Listed): string | null {
  return hasMore ? (next ?? lastId ?? null) : null
}

/** A change. Afterwards, also where it failed, all that is shown of the administration is fetched again. */
export function useOperationChange<Name extends OperationName>(
  name: Name,
): UseMutationResult<CallOutput<Name>, Error, CallInput<Name>> {
  const caller = useCaller()
  const client = useQueryClient()
  return useMutation({
    mutationFn: (input: CallInput<Name>) => call(caller, name, input),
    onSettled: () => refreshAdministration(client),
  })
}

export function refreshAdministration(client: QueryClient): Promise<void> {
  return client.invalidateQueries({ queryKey: ['administration'] })
}

const RIGHTS_STALE_AFTER_MS = 300_000

/** The person's role and projects. A gateway of release 0.1.0 has no such call. */
export function useRightsQuery(): UseQueryResult<CallOutput<'me.retrieve'>> {
  const caller = useCaller()
  return useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => call(caller, 'me.retrieve', {}, signal),
    staleTime: RIGHTS_STALE_AFTER_MS,
  })
}

/** Undefined until the rights are known. */
export function useMe(): CallOutput<'me.retrieve'> | undefined {
  return useRightsQuery().data
}

/** True: the person may make changes in the organization. Readers see no button for them. */
export function useIsOrganizationOwner(): boolean {
  return useMe()?.role === 'owner'
}
