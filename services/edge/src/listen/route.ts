/**
 * A row of the route table, and the steps that it stands for.
 *
 * A row cannot leave its credential out, and a handler gets its principal from that credential alone. `key at admission`
 * takes no handler: whoever admits nothing must have the key proven first.
 */

import type { Request, Response } from 'express'
import { proofs, type Credential, type Principals } from '../credentials/authenticate.ts'
import type { Edge } from '../edge.ts'
import type { InferenceKind } from '../read/inference-kinds.ts'
import { refuseWhileLate } from './intake.ts'
import { proveAndMakeRoom, readClaimed, readJsonBody, readSmallJsonBody } from '../read/read-json-body.ts'
import type { Method } from '../reference/api-reference.ts'
import type { OperationId } from '../reference/operations.ts'
import { infer } from '../routes/infer.ts'
import type { Step, StepRequest, StepResponse } from './take-steps.ts'

/** A request to a model. It takes the direct path (`take-steps.ts`). */
export interface InferenceRoute {
  credential: 'key at admission'
  asks: InferenceKind
}

/** Everything else, on Express' path. */
export type HandledRoute = { [Name in HandledCredential]: HandledBy<Name> }[HandledCredential]
type HandledCredential = Exclude<Credential, InferenceRoute['credential']>

interface HandledBy<Name extends HandledCredential> {
  credential: Name
  /** Up to 64 KB, or as long as a request to a model; none is read where this is left out. */
  body?: 'small' | (Name extends 'key' ? 'large' : never)
  handle: (edge: Edge) => Handler<Name>
}

export type Handler<Name extends HandledCredential> = (
  request: Request,
  response: Response,
  principal: Principals[Name],
) => void | Promise<void>

/** `doc`: the operation in the API reference. Pages have none. */
export type Route = (InferenceRoute | HandledRoute) & { doc?: OperationId }

/** By path, as Express writes it, and by method. */
export type Routes = Record<string, Partial<Record<Method, Route>>>

export function stepsOf(edge: Edge, route: Route): Step[] {
  if (route.credential === 'key at admission') {
    const answer = infer(edge, route.asks)
    return [refuseWhileLate(edge), ...proven(edge, proofs[route.credential], [readClaimed(edge)], answer)]
  }
  // The types of the row hold proof and handler together.
  const answer = route.handle(edge) as (request: StepRequest, response: StepResponse, principal: unknown) => void
  if (route.body === 'large') return proven(edge, proveAndMakeRoom, [readJsonBody], answer)
  return proven<unknown>(edge, proofs[route.credential], route.body ? [readSmallJsonBody] : [], answer)
}

function proven<Principal>(
  edge: Edge,
  prove: (edge: Edge, request: StepRequest, response: StepResponse) => Promise<Principal>,
  between: Step[],
  answer: (request: StepRequest, response: StepResponse, principal: Principal) => void | Promise<void>,
): Step[] {
  return [
    async (request, response, next) => {
      response.locals['principal'] = await prove(edge, request, response)
      next()
    },
    ...between,
    (request, response) => answer(request, response, response.locals['principal'] as Principal),
  ]
}
