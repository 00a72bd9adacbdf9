/**
 * Sends requests to the gateway as the person who signed in, and accepts only responses that match the contract's schema.
 * Every failure is a `GatewayProblem`, which explains itself to the reader.
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

/** The gateway's address, and the token of the person who signed in. */
export interface Caller {
  gatewayUrl: string
  token: string
  /** The gateway accepted the token. */
  onTokenAccepted(): void
  /** The gateway refused the token. */
  onTokenRefused(): void
}

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  body?: object
  /** The response is the same for every token, so the request carries none. */
  isPublic?: boolean
  signal?: AbortSignal
}

const RESPONSE_TIMEOUT_MS = 20_000

export async function sendRequest<Schema extends z.ZodType>(
  caller: Caller,
  path: string,
  schema: Schema,
  { signal, ...options }: RequestOptions = {},
): Promise<z.infer<Schema>> {
  const timeout = AbortSignal.timeout(RESPONSE_TIMEOUT_MS)
  const response = await send(caller, path, {
    ...options,
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  })
  const parsed = schema.safeParse(await readJson(response))
  if (!parsed.success) throw new GatewayProblem(unreadable, { cause: parsed.error })
  return parsed.data
}

/** Resolves with a successful response. Every other one is a `GatewayProblem`. */
export async function send(caller: Caller, path: string, options: RequestOptions): Promise<Response> {
  const { method = 'GET', body, isPublic = false, signal } = options
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
    if (!isPublic) caller.onTokenAccepted()
    return response
  }
  const requestId = response.headers.get('x-request-id') ?? undefined
  const problem = explainResponse(response.status, await readJson(response).catch(() => null), requestId)
  if (problem.code === 'INVALID_TOKEN' || problem.code === 'NO_AUTH') caller.onTokenRefused()
  throw new GatewayProblem(problem)
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch (cause) {
    throw new GatewayProblem(cause instanceof SyntaxError ? unreadable : unreachable, { cause })
  }
}
