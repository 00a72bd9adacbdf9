/**
 * Asks the gateway as the person who signed in, and takes an answer only in the contract's shape. Every failure is
 * a `GatewayProblem`: an error in words.
 */

import type * as z from 'zod'
import { explainResponse, unreachable, unreadable, type Problem } from '../core/explain-problem.ts'

export class GatewayProblem extends Error {
  readonly problem: Problem

  constructor(problem: Problem, options?: { cause?: unknown }) {
    super(problem.title, options)
    this.name = 'GatewayProblem'
    this.problem = problem
  }
}

/** The gateway, and as whom it is asked. */
export interface Caller {
  gatewayUrl: string
  token: string
  /** The gateway took the token. */
  onTaken(): void
  /** The gateway refused the token. */
  onEnded(): void
}

export interface Question {
  method?: 'GET' | 'POST'
  body?: object
  /** Everybody gets the same answer, whatever their token. */
  isPublic?: boolean
  signal?: AbortSignal
}

const RESPONSE_WITHIN_MS = 20_000

export async function sendRequest<Schema extends z.ZodType>(
  caller: Caller,
  path: string,
  schema: Schema,
  { signal, ...question }: Question = {},
): Promise<z.infer<Schema>> {
  const timeout = AbortSignal.timeout(RESPONSE_WITHIN_MS)
  const response = await send(caller, path, {
    ...question,
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  })
  const parsed = schema.safeParse(await readJson(response))
  if (!parsed.success) throw new GatewayProblem(unreadable, { cause: parsed.error })
  return parsed.data
}

/** Resolves with an answer of status 200. */
export async function send(caller: Caller, path: string, question: Question): Promise<Response> {
  const { method = 'GET', body, isPublic = false, signal } = question
  let response: Response
  try {
    response = await fetch(`${caller.gatewayUrl}${path}`, {
      method,
      headers: {
        ...(!isPublic && { authorization: `Bearer ${caller.token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      credentials: 'omit',
      cache: 'no-store',
    })
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new GatewayProblem(unreachable, { cause })
  }
  if (response.ok) {
    if (!isPublic) caller.onTaken()
    return response
  }
  const requestId = response.headers.get('x-request-id') ?? undefined
  const problem = explainResponse(response.status, await readJson(response).catch(() => null), requestId)
  if (problem.code === 'INVALID_TOKEN' || problem.code === 'NO_AUTH') caller.onEnded()
  throw new GatewayProblem(problem)
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch (cause) {
    throw new GatewayProblem(cause instanceof SyntaxError ? unreadable : unreachable, { cause })
  }
}
