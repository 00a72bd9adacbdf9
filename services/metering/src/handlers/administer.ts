/**
 * Calls of the administration API that the ledger serves. The edge has had keys authorize the caller.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { AdministerRefusal, AdministerReply } from '@gateway/contracts/administration/envelope'
import { internalCalls } from '@gateway/contracts/administration/internal'
import { type OperationsOf, operations } from '@gateway/contracts/administration/operations'
import type { BucketWidth } from '@gateway/contracts/administration/usage'
import { readInput } from '@gateway/contracts/administration/read-input'
import { GatewayError } from '@gateway/contracts/errors'
import type { ExportConfig } from '@gateway/contracts/exports'
import type { MeteringAdministerRequest } from '@gateway/contracts/metering-api'
import type * as z from 'zod'
import { COST_BUCKETS, fillPage, invalid, planPage, USAGE_BUCKETS, type BucketBounds } from '../core/usage-page.ts'
import {
  codeSessions,
  columnsOf,
  completions,
  costs,
  embeddings,
  fileSearches,
  images,
  KEY,
  type ResultOf,
  webSearches,
} from '../core/usage-results.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import { administerExports, checkExportRun, isOfExports } from './administer-exports.ts'
import {
  administerWebhooks,
  checkWebhookChange,
  isOfWebhooks,
  NO_WEBHOOKS,
  type WebhooksInUse,
} from './administer-webhooks.ts'
import { readUsage, type UsageQuery } from '../db/usage.ts'
import { showProjectUsage } from './show-project-usage.ts'

export interface AdministerContext {
  database: MeteringDatabase
  now(): number
  /** None where it is left out. */
  webhooks?: WebhooksInUse
  exports?(): readonly ExportConfig[]
}

type ChangeCheck = z.infer<(typeof internalCalls)['changes.check']['output']>

type UsageOperation = Extract<OperationsOf<'metering'>, `usage.${string}`>

interface Served {
  kind: UsageQuery['kind']
  resultOf: ResultOf<unknown>
}

/** Null: the gateway has no such usage. */
const SERVED: Record<UsageOperation, Served | null> = {
  'usage.completions': { kind: 'chat', resultOf: completions },
  'usage.embeddings': { kind: 'embeddings', resultOf: embeddings },
  'usage.images': { kind: 'images', resultOf: images },
  'usage.webSearchCalls': { kind: 'tool:web_search', resultOf: webSearches },
  'usage.fileSearchCalls': { kind: 'tool:file_search', resultOf: fileSearches },
  'usage.codeInterpreterSessions': { kind: 'tool:code_interpreter', resultOf: codeSessions },
  'usage.costs': { kind: 'requests', resultOf: costs },
  'usage.audioSpeeches': null,
  'usage.audioTranscriptions': null,
  'usage.moderations': null,
  'usage.vectorStores': null,
  'usage.decisions': null,
}

export async function administer(
  context: AdministerContext,
  { operation, input }: MeteringAdministerRequest,
): Promise<AdministerReply> {
  try {
    if (operation === 'changes.check') return { kind: 'done', output: await checkChange(context, input) }
    if (operation === 'projectViews.usage') return { kind: 'done', output: await showProjectUsage(context, input) }
    if (isServed(operation)) return { kind: 'done', output: await showUsage(context, operation, input) }
    if (isOfExports(operation)) {
      const output = await administerExports({ exports: () => [], ...context }, operation, input)
      return { kind: 'done', output }
    }
    if (!isOfWebhooks(operation)) throw new GatewayError('NOT_FOUND', `There is no operation ${operation}`)
    return { kind: 'done', output: await administerWebhooks({ webhooks: NO_WEBHOOKS, ...context }, operation, input) }
  } catch (error) {
    return refusalOf(error)
  }
}

async function checkChange(context: AdministerContext, input: Record<string, unknown>): Promise<ChangeCheck> {
  const { for: operation, input: given } = internalCalls['changes.check'].input.parse(input)
  try {
    if (operation === 'exports.run') checkExportRun({ exports: () => [], ...context }, given)
    else if (isOfWebhooks(operation)) await checkWebhookChange({ webhooks: NO_WEBHOOKS, ...context }, operation, given)
    return { refusal: null }
  } catch (error) {
    return { refusal: refusalOf(error) }
  }
}

/** Throws an error that is no refusal. */
export function refusalOf(error: unknown): AdministerRefusal {
  if (!(error instanceof GatewayError)) throw error
  const { param, retryAfterMs } = error.details
  return { kind: 'refused', code: error.code, message: error.message, param, retryAfterMs }
}

function isServed(operation: string): operation is UsageOperation {
  return Object.hasOwn(SERVED, operation)
}

/** The parameters of all these calls. */
interface Query {
  start_time: number
  end_time?: number
  bucket_width: BucketWidth
  limit?: number
  page?: string
  group_by?: string[]
  project_ids?: string[]
  user_ids?: string[]
  api_key_ids?: string[]
  models?: string[]
  line_items?: string[]
  batch?: boolean
  sizes?: string[]
  sources?: string[]
  context_levels?: string[]
  vector_store_ids?: string[]
}

async function showUsage({ database, now }: AdministerContext, name: UsageOperation, input: Record<string, unknown>) {
  const query = readInput(operations[name], input) as unknown as Query
  const bounds: BucketBounds = name === 'usage.costs' ? COST_BUCKETS : USAGE_BUCKETS[query.bucket_width]
  const by = query.group_by ?? []
  const groups = columnsOf(by)
  const page = planPage({ ...query, columns: groups.length }, bounds, now() / 1000)
  const served = SERVED[name]
  expectTagsAlone(query, by)
  if (!served || findsNothing(query)) return fillPage(page, async () => [], String, true)
  const { kind, resultOf } = served
  const usage: UsageQuery = { kind, groups, width: query.bucket_width, only: onlyOf(query) }
  return fillPage(
    page,
    (part) => readUsage(database, usage, part),
    (row) => resultOf(row, by),
    groups.every((column) => column === 'model_asked'),
  )
}

function onlyOf({ project_ids, user_ids, api_key_ids, models, line_items }: Query): UsageQuery['only'] {
  return {
    account: project_ids && unprefixed(project_ids, PROJECT_PREFIX),
    user_id: user_ids,
    key_id: api_key_ids && unprefixed(api_key_ids, KEY),
    model_asked: models ?? line_items,
  }
}

/** An id without its prefix names nothing. */
function unprefixed(ids: readonly string[], prefix: string): string[] {
  return ids.filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length))
}

/** The ledger has neither batches nor these facts. */
function findsNothing({ batch, sizes, sources, context_levels, vector_store_ids }: Query): boolean {
  return batch === true || [sizes, sources, context_levels, vector_store_ids].some((values) => values !== undefined)
}

/** Sums by tag know neither keys nor users, and days alone. */
function expectTagsAlone({ bucket_width, user_ids, api_key_ids }: Query, by: readonly string[]): void {
  if (!by.includes('tag')) return
  if (bucket_width !== '1d') throw invalid('bucket_width', 'tags are summed by day')
  if (by.includes('user_id') || by.includes('api_key_id') || user_ids || api_key_ids) {
    throw invalid('group_by', 'tags are summed by project and model, and by neither user nor key')
  }
}
