/**
 * OpenAI's Responses API in front of chat. The gateway keeps nothing: each request brings its whole conversation.
 *
 * The types of `openai` 7.55 (2026) define the members of a request and the order of events. Thoughts that a vendor has
 * encrypted stay with that vendor. A tool that a vendor would run is left out and reported.
 */

import { endsInTrigger } from '@gateway/contracts/responses'
import type { CompactionForm } from '@gateway/contracts/usage-event'
import type { JsonObject } from '@gateway/contracts/json'
import { BackendFault } from '../core/backend-fault.ts'
import type { Effort } from '../core/effort.ts'
import type { StateSeal } from '../core/state-seal.ts'
import { withOpenedCompactions } from './compaction/open-items.ts'
import { keptMessages, requestSummary } from './compaction/request.ts'
import { readSummary, SummaryEvents, type Compaction, type CompactionEcho } from './compaction/response.ts'
import type { ClientAdapter, WrittenChat } from './via-chat.ts'
import { generatedTextOf, readCompletion, withUsage } from './responses-to-chat/response.ts'
import { writeChat, type Echo } from './responses-to-chat/request.ts'
import { settingsOf } from './responses-to-chat/settings.ts'
import { ResponseEvents } from './responses-to-chat/stream.ts'

type ResponsesEcho = Echo & { compaction?: Compaction }

export const responsesToChat: ClientAdapter<ResponsesEcho> = {
  writeChat: (request, states, efforts) =>
    endsInTrigger(request.input)
      ? writeCompaction('trigger', request, states, efforts)
      : writeChat(withOpenedCompactions(request, states), states, efforts),
  names: {
    'messages.reasoning_content': 'input.reasoning',
    reasoning_effort: 'reasoning.effort',
    response_format: 'text.format',
    max_completion_tokens: 'max_output_tokens',
    logprobs: 'include.message.output_text.logprobs',
  },
  readCompletion: (completion, usage, echo, identity) =>
    isCompaction(echo)
      ? readSummary(completion, usage, echo, identity)
      : readCompletion(completion, usage, echo, identity),
  hidesText: isCompaction,
  textOf: generatedTextOf,
  withUsage,
  openStream: (echo, { identity }) =>
    isCompaction(echo) ? new SummaryEvents(echo, identity) : new ResponseEvents(echo, identity),
}

/** `POST /v1/responses/compact` in front of chat. */
export const compactionToChat: ClientAdapter<ResponsesEcho> = {
  ...responsesToChat,
  writeChat: (request, states, efforts) => writeCompaction('endpoint', request, states, efforts),
}

function isCompaction(echo: ResponsesEcho): echo is CompactionEcho {
  return echo.compaction !== undefined
}

/** The target is not called for a summary that nobody could seal. */
function writeCompaction(
  form: CompactionForm,
  request: JsonObject,
  states: StateSeal | undefined,
  efforts: readonly Effort[] | undefined,
): WrittenChat<ResponsesEcho> {
  if (states === undefined || states.seal('compaction', '') === null)
    throw new BackendFault('shortage', 'the secrets that seal a compaction cannot be had')
  const kept = form === 'endpoint' ? keptMessages(request) : []
  const summary = requestSummary(withOpenedCompactions(request, states))
  const { chat, dropped, echo } = writeChat(summary.request, states, efforts)
  const compaction = { form, states, kept, isCapped: request.max_output_tokens != null }
  return {
    chat,
    dropped: [...dropped, ...summary.dropped],
    echo: { ...echo, settings: settingsOf(request), compaction },
  }
}
