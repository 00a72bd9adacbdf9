/**
 * Usage and costs of the organization, from the ledger. The buckets are whole: `start_time` counts from the beginning of its bucket,
 * and `end_time` to the end of its own.
 *
 * A page has at most {@link MOST_RESULTS} results. A bucket with more goes on in the next page, under the same `start_time`.
 */

import * as z from 'zod'
import { flag, nothing, unixTime, type Operation } from './operation.ts'

/** Keeps a page below the bus' largest message. */
export const MOST_RESULTS = 800

const bucketWidths = ['1m', '1h', '1d'] as const
export type BucketWidth = (typeof bucketWidths)[number]

const time = z.coerce.number().int().min(0).max(253_402_300_799)
const names = z.array(z.string().max(256)).max(1_000).optional()
const pages = { limit: z.coerce.number().int().min(1).optional(), page: z.string().max(2_048).optional() }

const range = { start_time: time, end_time: time.optional() }
const buckets = { ...range, bucket_width: z.enum(bucketWidths).default('1d'), ...pages }
const byProject = { project_ids: names }
const byKey = { ...byProject, user_ids: names, api_key_ids: names }
const byModel = { ...byKey, models: names }
const groups = <const Names extends readonly string[]>(of: Names) => z.array(z.enum(of)).optional()
const batch = flag.or(z.boolean()).optional()

/** Null where the usage is not grouped by it, or has none. */
const group = z.string().nullable()
const ofProject = { project_id: group }
const ofKey = { ...ofProject, user_id: group, api_key_id: group }
/** `tag` is ours: `team=search`, or `other` for those beyond the bound. */
const ofModel = { ...ofKey, model: group, tag: group }
const count = z.number()

const result = <const Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) =>
  z.object({ object: z.literal(`organization.${name}.result`), ...shape })

const completions = result('usage.completions', {
  input_tokens: count,
  output_tokens: count,
  num_model_requests: count,
  input_cached_tokens: count,
  input_uncached_tokens: count,
  input_cache_write_tokens: count,
  input_text_tokens: count,
  output_text_tokens: count,
  input_cached_text_tokens: count,
  input_audio_tokens: count,
  input_cached_audio_tokens: count,
  output_audio_tokens: count,
  ...ofModel,
  batch: z.null(),
  service_tier: z.null(),
  api_source: z.literal('unlabeled').nullable(),
})
const embeddings = result('usage.embeddings', { input_tokens: count, num_model_requests: count, ...ofModel })
const images = result('usage.images', {
  images: count,
  num_model_requests: count,
  ...ofModel,
  size: z.null(),
  source: z.null(),
})
const webSearches = result('usage.web_searches', {
  num_requests: count,
  num_model_requests: count,
  ...ofKey,
  model: group,
  context_level: z.null(),
  api_source: z.literal('unlabeled').nullable(),
})
const fileSearches = result('usage.file_searches', { num_requests: count, ...ofKey, vector_store_id: z.null() })
const codeSessions = result('usage.code_interpreter_sessions', { num_sessions: count, ...ofProject })
const costs = result('costs', {
  amount: z.object({ value: z.number(), currency: z.literal('usd') }),
  line_item: group,
  ...ofKey,
  quantity: z.number().nullable(),
  quantity_unit: z.literal('tokens').nullable(),
  tag: group,
  api_source: z.literal('unlabeled').nullable(),
})

function pageOf<Result extends z.ZodType>(of: Result) {
  return z.object({
    object: z.literal('page'),
    data: z.array(
      z.object({ object: z.literal('bucket'), start_time: unixTime, end_time: unixTime, results: z.array(of) }),
    ),
    has_more: z.boolean(),
    next_page: z.string().nullable(),
  })
}

const WIDTHS = 'minutes go back a day and hours 31 days; a page ends after 800 results, also within a bucket'
const OURS = '`group_by` takes `tag`, too, by day and beside project and model'

function usage<const Name extends string, Query extends z.ZodRawShape, Result extends z.ZodType>(
  name: Name,
  query: Query,
  of: Result,
  words: { about: string; deviation: string },
) {
  return {
    method: 'GET',
    path: `/v1/organization/usage/${name}`,
    service: 'metering',
    access: 'reader',
    query: z.strictObject({ ...buckets, ...query }),
    body: nothing,
    output: pageOf(of),
    ...words,
  } as const
}

const MODEL_GROUPS = ['project_id', 'user_id', 'api_key_id', 'model', 'tag'] as const
const PLAIN_GROUPS = ['project_id', 'user_id', 'api_key_id', 'model'] as const

const none = <const Name extends string, Query extends z.ZodRawShape>(name: Name, query: Query) =>
  usage(name, query, z.never(), {
    about: `lists buckets without results`,
    deviation: 'the gateway has no such usage',
  })

export const usageOperations = {
  'usage.completions': usage(
    'completions',
    { ...byModel, batch, group_by: groups([...MODEL_GROUPS, 'batch', 'service_tier', 'api_source']) },
    completions,
    {
      about: 'sums requests and tokens of chat completions, responses and messages',
      deviation: `\`model\` is the requested one; nothing is a batch; ${OURS}; ${WIDTHS}`,
    },
  ),
  'usage.embeddings': usage('embeddings', { ...byModel, group_by: groups(MODEL_GROUPS) }, embeddings, {
    about: 'sums requests and tokens of embeddings',
    deviation: `${OURS}; ${WIDTHS}`,
  }),
  'usage.images': usage(
    'images',
    { ...byModel, sizes: names, sources: names, group_by: groups([...MODEL_GROUPS, 'size', 'source']) },
    images,
    {
      about: 'sums requests for images and images',
      deviation: `sizes and sources are not kept, and a filter by them finds nothing; ${OURS}; ${WIDTHS}`,
    },
  ),
  'usage.webSearchCalls': usage(
    'web_search_calls',
    { ...byModel, context_levels: names, group_by: groups([...PLAIN_GROUPS, 'context_level', 'api_source']) },
    webSearches,
    {
      about: 'sums web searches that a vendor ran',
      deviation: `context levels are not kept, and a filter by them finds nothing; ${WIDTHS}`,
    },
  ),
  'usage.fileSearchCalls': usage(
    'file_search_calls',
    { ...byKey, vector_store_ids: names, group_by: groups(['project_id', 'user_id', 'api_key_id', 'vector_store_id']) },
    fileSearches,
    {
      about: 'sums file searches that a vendor ran',
      deviation: `vector stores are not kept, and a filter by them finds nothing; ${WIDTHS}`,
    },
  ),
  'usage.codeInterpreterSessions': usage(
    'code_interpreter_sessions',
    { ...byProject, group_by: groups(['project_id']) },
    codeSessions,
    { about: 'sums calls of a code interpreter that a vendor ran', deviation: WIDTHS },
  ),
  'usage.audioSpeeches': none('audio_speeches', { ...byModel, group_by: groups(PLAIN_GROUPS) }),
  'usage.audioTranscriptions': none('audio_transcriptions', { ...byModel, group_by: groups(PLAIN_GROUPS) }),
  'usage.moderations': none('moderations', { ...byModel, group_by: groups(PLAIN_GROUPS) }),
  'usage.vectorStores': none('vector_stores', { ...byProject, group_by: groups(['project_id']) }),
  'usage.decisions': none('decisions', {
    ...byModel,
    batch,
    group_by: groups([...PLAIN_GROUPS, 'batch', 'service_tier', 'api_source']),
  }),
  'usage.costs': {
    method: 'GET',
    path: '/v1/organization/costs',
    service: 'metering',
    access: 'reader',
    query: z.strictObject({
      ...range,
      bucket_width: z.literal('1d').default('1d'),
      ...pages,
      ...byProject,
      api_key_ids: names,
      line_items: names,
      group_by: groups(['project_id', 'user_id', 'line_item', 'api_key_id', 'api_source', 'tag']),
    }),
    body: nothing,
    output: pageOf(costs),
    about: 'sums costs by day in US dollars',
    deviation:
      '`line_item` is the requested model; plans in tokens cost 0 and show their tokens as `quantity`; ' +
      '`group_by` takes `tag`, too; a page ends after 800 results, also within a bucket',
  },
} as const satisfies Record<string, Operation>
