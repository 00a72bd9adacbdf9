/**
 * Rows of the route table, and the way of a request: the first steps of every request, and then those of its row.
 *
 * A row cannot leave its credential out, and a handler gets its principal from that credential alone. `key at admission`
 * takes no handler: a row that admits nothing must have the key proven first.
 */

import type { RequestListener } from 'node:http'
import express from 'express'
import { insteadOf } from './core/absent-calls.ts'
import { allowBrowsers } from './http/allow-browsers.ts'
import type { EdgeContext } from './edge-context.ts'
import {
  beginRequest,
  countTraffic,
  type Step,
  type StepRequest,
  type StepResponse,
  takeSteps,
} from './http/take-steps.ts'
import { refuseAmbiguous, refuseReboundNames, refuseWebSockets } from './http/refuse-by-form.ts'
import { methodNotAllowed, notFound, renderErrors } from './http/render-errors.ts'
import type { Method } from './reference/api-reference.ts'
import { type Credential, namesKnownAccount, type Prove, type ProvenCaller, proofs } from './auth/authenticate.ts'
import { verifySignature } from './auth/verify-signature.ts'
import { reportRefused } from './http/report-refused.ts'
import type { InferenceKind } from './requests/inference-kinds.ts'
import { parseJson } from './requests/parse-json.ts'
import { findPlan } from '@gateway/contracts/models'
import { refuseWhileLate } from './http/load-shedder.ts'
import {
  proveAndReserve,
  readBodyOrBytes,
  readSignedBody,
  readSmallJsonBody,
  readYamlBody,
} from './http/read-json-body.ts'
import type { OperationId } from './reference/operations.ts'
import type { Handler } from './http/handler.ts'
import { inferenceSteps } from './inference/infer.ts'
import { RESPONSES_PATH } from './websocket/turn-response.ts'

/** A request to a model. It takes the direct path (`take-steps.ts`). */
interface InferenceRoute {
  credential: 'key at admission'
  kind: InferenceKind
}

/** Everything else, on Express' path. */
type HandledRoute = { [Name in HandledCredential]: HandledBy<Name> }[HandledCredential]
type HandledCredential = Exclude<Credential, InferenceRoute['credential']>

interface HandledBy<Name extends HandledCredential> {
  credential: Name
  /** JSON up to 64 KB or as long as a request to a model, or YAML. Where this is left out, none is read. */
  body?: 'small' | (Name extends 'key' ? 'large' : never) | (Name extends 'administrator' ? 'yaml' : never)
  handle: (edge: EdgeContext) => Handler<Name>
}

/** `doc`: the operation in the API reference. Pages have none. */
export type Route = (InferenceRoute | HandledRoute) & { doc?: OperationId }

/** By path, as Express writes it, and by method. */
export type Routes = Record<string, Partial<Record<Method, Route>>>

/** The steps of every request. */
function firstSteps(edge: EdgeContext): Step[] {
  return [
    beginRequest(edge),
    refuseAmbiguous,
    refuseWebSockets([RESPONSES_PATH]),
    ...refuseReboundNames(edge.settings),
    ...allowBrowsers(edge.settings.corsOrigins),
  ]
}

/** Serves one row alone, at a path that only this process uses. */
export function serveRow(edge: EdgeContext, path: string, route: Route): RequestListener {
  return takeSteps(path, [...firstSteps(edge), ...stepsOf(edge, route)], renderErrors(edge))
}

const REGISTER = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const

export function createApp(edge: EdgeContext, routes: Routes): RequestListener {
  const first = firstSteps(edge)
  const fail = renderErrors(edge)

  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  // A rule of a proxy in front for /v1/keys must hold for /V1/Keys, which is nothing.
  app.set('case sensitive routing', true)
  app.use(...first)

  // Nearly every request is for a model, and takes its steps without a look-up of its route in Express. Express knows them,
  // too: a path may come with a query, and each has other methods.
  const directPaths = new Map<string, RequestListener>()
  for (const [path, methods] of Object.entries(routes)) {
    const onPath = app.route(path)
    for (const [method, route] of Object.entries(methods) as [Method, Route][]) {
      const steps = stepsOf(edge, route)
      onPath[REGISTER[method]](...steps)
      if ('kind' in route && method === 'POST') directPaths.set(path, takeSteps(path, [...first, ...steps], fail))
    }
    onPath.all(methodNotAllowed(Object.keys(methods).toSorted(), insteadOf))
  }
  app.use(notFound(Object.keys(routes), insteadOf))
  app.use(fail)

  return (request, response) => {
    const direct = request.method === 'POST' ? directPaths.get(request.url!) : undefined
    if (direct) direct(request, response)
    else app(request, response)
  }
}

export function stepsOf(edge: EdgeContext, route: Route): Step[] {
  const refuse = refuseWhileLate(edge, (request) => namesKnownAccount(edge, request))
  if (route.credential === 'key at admission') {
    return [countTraffic(edge), refuse, ...inferenceSteps(edge, route.kind)]
  }
  // The types of the row hold proof and handler together.
  const handle = route.handle(edge) as (request: StepRequest, response: StepResponse, principal: unknown) => void
  if (route.body === 'large') return [refuse, ...proven(edge, proveAndReserve, [readBodyOrBytes], handle)]
  if (route.credential === 'administrator') {
    const readBody = route.body === 'yaml' ? readYamlBody : readSmallJsonBody
    return proven<unknown>(edge, proveAdministrator, [readBody], handle)
  }
  if (route.credential === 'signature') {
    return [takeShare(edge), readSignedBody, ...proven<unknown>(edge, proveSignature, [], handle)]
  }
  if (route.credential === 'key' || route.credential === 'account') {
    return proven<unknown>(edge, proveInTurn(proofs[route.credential]), route.body ? [readSmallJsonBody] : [], handle)
  }
  return proven<unknown>(edge, proofs[route.credential], route.body ? [readSmallJsonBody] : [], handle)
}

/** A client that requests its own figures without a pause takes no more than its share of the event loop's time. */
function proveInTurn(prove: Prove<ProvenCaller | string | null>) {
  return async (edge: EdgeContext, request: StepRequest, response: StepResponse) => {
    const reservation = edge.bytes.reserveRequest(request, response)
    const principal = await prove(edge, request)
    const account = typeof principal === 'string' ? principal : principal?.account
    const plan = typeof principal === 'string' ? edge.plans.planOf(principal) : (principal?.plan ?? null)
    if (account !== undefined) reservation.provenAs(account, plan !== null && findPlan(edge.config.current, plan).guest)
    await reservation.cpu.chargeOwnResponse()
    return principal
  }
}

/** A key that nobody has proven takes the share of its sender's network. */
async function proveAdministrator(edge: EdgeContext, request: StepRequest, response: StepResponse) {
  const reservation = edge.bytes.reserveRequest(request, response)
  const credential = await proofs.administrator(edge, request).catch((refusal: unknown) => {
    reportRefused(edge, request, response, refusal)
    throw refusal
  })
  if (credential.kind === 'sign_in') reservation.provenAs(`${credential.issuer} ${credential.subject}`, false)
  else if (credential.kind === 'admin_key' && edge.adminKeys.has(credential.hash)) {
    reservation.provenAs(`admin key ${credential.hash}`, false)
  }
  await reservation.cpu.chargeOwnResponse()
  return credential
}

/** Nobody has proven the sender, who takes the share of its network. */
function takeShare(edge: EdgeContext): Step {
  return async (request, response, next) => {
    await edge.bytes.reserveRequest(request, response).cpu.chargeOwnResponse()
    next()
  }
}

async function proveSignature(edge: EdgeContext, request: StepRequest, response: StepResponse): Promise<object> {
  const body = request.body instanceof Buffer ? request.body : NOTHING
  try {
    verifySignature(edge.settings.topUpSecrets, request.headers, body)
  } catch (refusal) {
    reportRefused(edge, request, response, refusal)
    throw refusal
  }
  return parseJson(body)
}

const NOTHING = Buffer.alloc(0)

function proven<Principal>(
  edge: EdgeContext,
  prove: (edge: EdgeContext, request: StepRequest, response: StepResponse) => Promise<Principal>,
  between: Step[],
  handle: (request: StepRequest, response: StepResponse, principal: Principal) => void | Promise<void>,
): Step[] {
  return [
    async (request, response, next) => {
      response.locals['principal'] = await prove(edge, request, response)
      next()
    },
    ...between,
    (request, response) => handle(request, response, response.locals['principal'] as Principal),
  ]
}
