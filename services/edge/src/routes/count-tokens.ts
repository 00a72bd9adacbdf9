/**
 * `POST /v1/messages/count_tokens`: the tokens of a prompt before it is sent. The edge estimates them, as it does for the
 * limits; the backend's own tokenizer decides when the request runs.
 */

import type { z } from 'zod'
import type { tokensCounted } from '@gateway/contracts/messages'
import type { Edge } from '../edge.ts'
import { countTokens } from '../read/messages.ts'
import type { Handler } from '../listen/route.ts'
import { modelNamed } from './infer.ts'

export function countPromptTokens(edge: Edge): Handler<'key'> {
  return (request, response) => {
    const { model, input_tokens } = countTokens(request.body)
    modelNamed(edge.config.current, model, 'chat')
    response.json({ input_tokens } satisfies z.infer<typeof tokensCounted>)
  }
}
