/**
 * A request's way through steps that are known beforehand: Express' kind of middleware without a router between one and
 * the next, which costs more than most steps do. The same steps serve under Express.
 *
 * What a step throws, rejects with or hands to `next` ends the way and goes to `fail`, once.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

export interface StepRequest extends IncomingMessage {
  /** Once it was read. */
  body?: unknown
}

export interface StepResponse extends ServerResponse {
  /** What steps tell those behind them. */
  locals: Record<string, unknown>
}

export type Next = (error?: unknown) => void
export type Step = (request: StepRequest, response: StepResponse, next: Next) => void | Promise<void>
export type Fail = (error: unknown, request: StepRequest, response: StepResponse) => void

/** `endpoint`: the route as it is documented. */
export function takeSteps(endpoint: string, steps: readonly Step[], fail: Fail): RequestListener {
  return (request, incoming) => {
    const response = Object.assign(incoming, { locals: { endpoint } })
    let taken = 0
    const next: Next = (error) => {
      if (error !== undefined) return fail(error, request, response)
      try {
        const step = steps[taken++]
        step?.(request, response, next)?.catch((thrown: unknown) => fail(thrown, request, response))
      } catch (thrown) {
        fail(thrown, request, response)
      }
    }
    next()
  }
}
