/**
 * Messages of a WebSocket that run no model. One keeps an input for later (`generate: false`), and nothing is charged for it.
 * The others have a fault that the socket found. Each proves the key again, and takes the sender's time.
 */

import { v7 as uuidv7 } from 'uuid'
import type { ConfigSource } from '@gateway/config/config-source'
import { GatewayError } from '@gateway/contracts/errors'
import type { JsonObject } from '@gateway/contracts/json'
import type { Handler } from '../http/handler.ts'
import { reservationOf } from '../http/memory-budget.ts'
import type { LargeBodies } from '../requests/large-bodies.ts'
import { LargeJson } from '../requests/parse-json.ts'
import { responses } from '../requests/responses.ts'
import { understand } from '../requests/understand.ts'

interface WarmUpContext {
  config: ConfigSource
  largeBodies: LargeBodies
}

export function warmUp(edge: WarmUpContext): Handler<'key'> {
  return async (request, response) => {
    const { current } = edge.config
    const body: unknown = request.body
    const { model } =
      body instanceof LargeJson
        ? await edge.largeBodies.understand(current, responses, body, reservationOf(response)!.cpu)
        : understand(current, responses, body)
    const kept = keptResponse(model.id)
    const begun = { ...kept, status: 'in_progress', completed_at: null, usage: null }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(eventOf('response.created', 0, begun))
    response.write(eventOf('response.in_progress', 1, begun))
    response.end(eventOf('response.completed', 2, kept))
  }
}

/** A response without output: all members of OpenAI's object (the types of `openai` 7.55), at their defaults. */
function keptResponse(model: string): JsonObject {
  const now = Math.floor(Date.now() / 1_000)
  const noTokens = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  return {
    id: `resp_${uuidv7().replaceAll('-', '')}`,
    object: 'response',
    created_at: now,
    completed_at: now,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    model,
    output: [],
    previous_response_id: null,
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    truncation: 'disabled',
    text: { format: { type: 'text' } },
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    reasoning: null,
    max_output_tokens: null,
    max_tool_calls: null,
    store: false,
    background: false,
    service_tier: 'default',
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
    usage: { ...noTokens, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  }
}

function eventOf(type: string, number: number, response: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, response })}\n\n`
}

/** The socket's own fault of a message is the request's body. */
export function refuseTurn(): Handler<'key'> {
  return (request) => {
    const fault: unknown = request.body
    throw fault instanceof GatewayError ? fault : new Error('a message was refused without a reason')
  }
}
