/**
 * `POST /v1/messages/count_tokens`: the tokens of a prompt before it is sent. The edge estimates them, as it does for the
 * limits; the backend's own tokenizer decides when the request runs.
 */

import type { z } from 'zod'
import type { tokensCounted } from '@gateway/contracts/messages'
import type { Edge } from '../edge.ts'
import { holdOf } from '../read/bytes-in-flight.ts'
import { countTokens } from '../read/messages.ts'
import { LargeJson } from '../read/parse-json.ts'
import type { Handler } from '../listen/route.ts'
import { modelNamed } from '../read/understand.ts'

export function countPromptTokens(edge: Edge): Handler<'key'> {
  return async (request, response) => {
    const { current } = edge.config
    const body: unknown = request.body
    const { sender } = holdOf(response)!
    const { model, input_tokens } =
      body instanceof LargeJson ? await edge.largeBodies.countTokens(current, body, sender) : countTokens(body)
    modelNamed(current, model, 'chat')
    response.json({ input_tokens } satisfies z.infer<typeof tokensCounted>)
  }
}
