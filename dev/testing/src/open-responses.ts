/**
 * Responses and their events as Open Responses (openresponses.org, specification 2026-04-24) describes them, in our own
 * words. Each member that the specification requires must be there, of its kind. Members beyond it are no fault.
 *
 * OpenAI's own service deviates, and its clients rely on that. So these are no faults either:
 *
 * - pieces of a thought's text are `response.reasoning_text`, as in `openai` 7.55 (2026), not `response.reasoning`;
 * - a response repeats its schema, its custom and hosted tools, and efforts that the specification does not list;
 * - calls of such tools are items and events of their own.
 */

import * as z from 'zod'

const integer = z.int()
const text = z.string()

/** Objects of these types, by their `type`; others are a vendor's own. */
function byType(known: Record<string, z.ZodType>, others: RegExp): z.ZodType {
  return z.looseObject({ type: text }).superRefine((value, context) => {
    const schema = Object.hasOwn(known, value.type) ? known[value.type] : undefined
    if (schema === undefined) {
      if (!others.test(value.type)) context.addIssue({ code: 'custom', path: ['type'], message: `is ${value.type}` })
      return
    }
    for (const issue of schema.safeParse(value).error?.issues ?? []) {
      context.addIssue({ code: 'custom', path: issue.path, message: issue.message })
    }
  })
}

const token = z.looseObject({ token: text, logprob: z.number(), bytes: z.array(integer) })
const logprobs = z.array(token.extend({ top_logprobs: z.array(token) }))
const citation = z.looseObject({
  type: z.literal('url_citation'),
  url: text,
  title: text,
  start_index: integer,
  end_index: integer,
})
const annotation = byType({ url_citation: citation }, /^(?:file_citation|container_file_citation|file_path)$/)

const part = byType(
  {
    output_text: z.looseObject({ text, annotations: z.array(annotation), logprobs: logprobs.optional() }),
    refusal: z.looseObject({ refusal: text }),
    reasoning_text: z.looseObject({ text }),
    summary_text: z.looseObject({ text }),
  },
  /^$/,
)

const itemStatus = z.enum(['in_progress', 'completed', 'incomplete'])
const call = z.looseObject({ id: text, call_id: text, name: text, status: itemStatus })
const item = byType(
  {
    message: z.looseObject({
      id: text,
      status: itemStatus,
      role: z.enum(['user', 'assistant', 'system', 'developer']),
      content: z.array(part),
      phase: z.enum(['commentary', 'final_answer']).optional(),
    }),
    function_call: call.extend({ arguments: text }),
    custom_tool_call: call.extend({ input: text }),
    reasoning: z.looseObject({
      id: text,
      summary: z.array(part),
      content: z.array(part).optional(),
      encrypted_content: text.optional(),
    }),
    compaction: z.looseObject({ id: text, encrypted_content: text, created_by: text.optional() }),
  },
  /_call$|^mcp_/,
)

const functionTool = z.looseObject({
  name: text,
  description: text.nullable(),
  parameters: z.looseObject({}).nullable(),
  strict: z.boolean().nullable(),
})
const tool = byType({ function: functionTool }, /./)
const mode = z.enum(['none', 'auto', 'required'])
const choice = byType(
  {
    function: z.looseObject({ name: text.optional() }),
    allowed_tools: z.looseObject({ mode, tools: z.array(z.looseObject({ type: text })) }),
  },
  /./,
)
const jsonSchema = z.looseObject({
  name: text,
  description: text.nullable(),
  schema: z.looseObject({}).nullable(),
  strict: z.boolean(),
})
const format = byType({ text: z.looseObject({}), json_object: z.looseObject({}), json_schema: jsonSchema }, /^$/)

const usage = z.looseObject({
  input_tokens: integer,
  output_tokens: integer,
  total_tokens: integer,
  input_tokens_details: z.looseObject({ cached_tokens: integer }),
  output_tokens_details: z.looseObject({ reasoning_tokens: integer }),
})

/** A whole response, plain or in an event. */
export const openResponse = z
  .looseObject({
    id: text,
    object: z.literal('response'),
    created_at: integer,
    completed_at: integer.nullable(),
    status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
    incomplete_details: z.looseObject({ reason: text }).nullable(),
    model: text,
    previous_response_id: text.nullable(),
    instructions: text.nullable(),
    output: z.array(item),
    error: z.looseObject({ code: text, message: text }).nullable(),
    tools: z.array(tool),
    tool_choice: z.union([mode, choice]),
    truncation: z.enum(['auto', 'disabled']),
    parallel_tool_calls: z.boolean(),
    text: z.looseObject({ format, verbosity: z.enum(['low', 'medium', 'high']).optional() }),
    top_p: z.number(),
    presence_penalty: z.number(),
    frequency_penalty: z.number(),
    top_logprobs: integer,
    temperature: z.number(),
    reasoning: z
      .looseObject({ effort: text.nullable(), summary: z.enum(['concise', 'detailed', 'auto']).nullable() })
      .nullable(),
    usage: usage.nullable(),
    max_output_tokens: integer.nullable(),
    max_tool_calls: integer.nullable(),
    store: z.boolean(),
    background: z.boolean(),
    service_tier: text,
    metadata: z.record(text, text).nullable(),
    safety_identifier: text.nullable(),
    prompt_cache_key: text.nullable(),
  })
  .superRefine(({ status, completed_at: completedAt, created_at: createdAt, usage: counted }, context) => {
    if ((status === 'completed') !== (completedAt !== null)) {
      context.addIssue({ code: 'custom', path: ['completed_at'], message: `is ${completedAt} of a ${status} response` })
    }
    if (completedAt !== null && completedAt < createdAt) {
      context.addIssue({ code: 'custom', path: ['completed_at'], message: 'is before created_at' })
    }
    if ((status === 'queued' || status === 'in_progress') && counted !== null) {
      context.addIssue({ code: 'custom', path: ['usage'], message: 'is not known yet' })
    }
  })

const withStatus = (...states: string[]) =>
  z.looseObject({ response: openResponse.refine(({ status }) => states.includes(status), 'has another status') })
const placed = z.looseObject({ item_id: text, output_index: integer })
const inContent = placed.extend({ content_index: integer })
const inSummary = placed.extend({ summary_index: integer })
const delta = { delta: text, obfuscation: text.optional() }
const ofItem = z.looseObject({ output_index: integer, item })

const EVENTS: Record<string, z.ZodType> = {
  'response.created': withStatus('in_progress', 'queued'),
  'response.queued': withStatus('queued'),
  'response.in_progress': withStatus('in_progress'),
  'response.completed': withStatus('completed'),
  'response.incomplete': withStatus('incomplete'),
  'response.failed': withStatus('failed'),
  'response.output_item.added': ofItem,
  'response.output_item.done': ofItem,
  'response.content_part.added': inContent.extend({ part }),
  'response.content_part.done': inContent.extend({ part }),
  'response.output_text.delta': inContent.extend({ ...delta, logprobs: logprobs.optional() }),
  'response.output_text.done': inContent.extend({ text, logprobs: logprobs.optional() }),
  'response.output_text.annotation.added': inContent.extend({ annotation_index: integer, annotation }),
  'response.refusal.delta': inContent.extend(delta),
  'response.refusal.done': inContent.extend({ refusal: text }),
  'response.reasoning_text.delta': inContent.extend(delta),
  'response.reasoning_text.done': inContent.extend({ text }),
  'response.reasoning_summary_part.added': inSummary.extend({ part }),
  'response.reasoning_summary_part.done': inSummary.extend({ part }),
  'response.reasoning_summary_text.delta': inSummary.extend(delta),
  'response.reasoning_summary_text.done': inSummary.extend({ text }),
  'response.function_call_arguments.delta': placed.extend(delta),
  'response.function_call_arguments.done': placed.extend({ arguments: text }),
  'response.custom_tool_call_input.delta': placed.extend(delta),
  'response.custom_tool_call_input.done': placed.extend({ input: text }),
  error: z.looseObject({
    error: z.looseObject({ type: text, code: text.nullable(), message: text, param: text.nullable() }),
  }),
}

/** One event of a stream. */
export const openEvent = z.looseObject({ sequence_number: integer }).and(byType(EVENTS, /^response\.[a-z_]+_call\./))

/** The faults of a whole stream, in words; none where it keeps the specification. `events`: names and data, in order. */
export function streamFaults(events: readonly { name: string | null; data: string }[]): string[] {
  const parsed = events.map(({ data }) => JSON.parse(data) as { type: string; sequence_number: number })
  const faults = parsed.flatMap((event, at) => [
    ...(event.type === events[at]!.name ? [] : [`${event.type} is named ${events[at]!.name}`]),
    ...(event.sequence_number === at ? [] : [`event ${at} has the number ${event.sequence_number}`]),
    ...faultsIn(event.type, openEvent, event),
  ])
  if (parsed[0]?.type !== 'response.created') faults.push(`begins with ${parsed[0]?.type}`)
  const last = parsed.at(-1)?.type ?? 'nothing'
  if (!/^response\.(?:completed|incomplete|failed)$/.test(last)) faults.push(`ends with ${last}`)
  return faults
}

export function faultsIn(name: string, schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value)
  return (error?.issues ?? []).map(({ path, message }) => `${name}: ${path.map(String).join('.')}: ${message}`)
}
