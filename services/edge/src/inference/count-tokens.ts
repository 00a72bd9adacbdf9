/**
 * `POST /v1/messages/count_tokens`: the tokens of a prompt before it is sent. A backend counts them where it has an endpoint
 * for that. Otherwise the edge estimates them, as it does for the limits. `x-svc-token-count` says which.
 *
 * No prompt reaches a backend that a request of the caller's could not reach, by the plan or by the policies of a project.
 */

import type { z } from 'zod'
import type { ConfigSource } from '@gateway/config/config-source'
import type { tokensCounted } from '@gateway/contracts/messages'
import { findPlan, planIncludes } from '@gateway/contracts/models'
import { anthropicHeadersOf } from '../core/anthropic-headers.ts'
import { refusalOf } from '../core/policy.ts'
import { reservationOf } from '../http/memory-budget.ts'
import { jobBody } from '../requests/inference-kinds.ts'
import { countTokens } from '../requests/messages.ts'
import type { LargeBodies } from '../requests/large-bodies.ts'
import type { CountAtBackends } from './count-at-backends.ts'
import { LargeJson } from '../requests/parse-json.ts'
import type { Handler } from '../http/handler.ts'
import { measuredOf } from '../http/take-steps.ts'
import { modelNamed } from '../requests/understand.ts'

interface CountContext {
  config: ConfigSource
  countAtBackends: CountAtBackends
  largeBodies: LargeBodies
}

export function countPromptTokens(edge: CountContext): Handler<'key'> {
  return async (request, response, caller) => {
    const { current } = edge.config
    const body: unknown = request.body
    const { cpu } = reservationOf(response)!
    const { model, input_tokens } =
      body instanceof LargeJson ? await edge.largeBodies.countTokens(current, body, cpu) : countTokens(body)
    const served = modelNamed(current, model, 'chat')
    const { policy } = caller.project ?? {}
    const isIncluded = planIncludes(findPlan(current, caller.plan), served)
    const isPermitted = isIncluded && (policy === undefined || refusalOf(policy, served) === null)
    // No pool is chosen for Auto before the request runs, and a large body is not read a second time.
    const exact =
      body instanceof LargeJson || served.type === 'auto' || !isPermitted
        ? null
        : await edge.countAtBackends({
            pool: served.pool,
            body: jobBody(body as Record<string, unknown>).bytes.toString('utf8'),
            requestId: measuredOf(response).requestId,
            ...anthropicHeadersOf(request.headers),
          })
    response.setHeader('x-svc-token-count', exact === null ? 'estimate' : 'exact')
    response.json({ input_tokens: exact ?? input_tokens } satisfies z.infer<typeof tokensCounted>)
  }
}
