/**
 * The backend's requests and responses, in order of arrival: the truth that tests compare the ledger with.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Endpoint, Fault } from './faults.ts'

export interface ReportedUsage {
  prompt_tokens?: number
  completion_tokens?: number
  input_tokens?: number
  output_tokens?: number
  total_tokens: number
}

interface CallRequest {
  endpoint: Endpoint
  /** `x-request-id`. */
  requestId: string | null
  headers: IncomingHttpHeaders
  /** `x-simulated-backend`: which one was spoken to, where one server plays several. */
  backend: string | null
  model: string | null
  stream: boolean
  /** Parsed; null above `keepBodyBytes`. */
  body: unknown
  bodyBytes: number
  fault: Fault | null
  startedAtMs: number
}

export interface BackendCall extends CallRequest {
  /** Position in the log, from 1. */
  number: number
  status: number | null
  firstByteAtMs: number | null
  /** The time at which the system had the complete response, or at which it broke off. */
  endedAtMs: number | null
  /** `aborted`: the client left, or the fault ended it. */
  outcome: 'running' | 'completed' | 'aborted'
  chunksSent: number
  /** The usage as reported to the client, or as it would have been when the response broke off before. */
  usage: ReportedUsage | null
  /** chat: the response's `id`, which no other has. */
  responseId: string | null
}

export interface CallLog {
  readonly calls: BackendCall[]
  readonly running: number
  begin(call: CallRequest): BackendCall
  end(call: BackendCall, outcome: 'completed' | 'aborted'): void
  clear(): void
}

/** Keeps the last `keep` calls at the least, twice as many at the most. */
export function callLog(keep: number): CallLog {
  let calls: BackendCall[] = []
  let began = 0
  let running = 0
  return {
    get calls() {
      return calls
    },
    get running() {
      return running
    },
    begin(request) {
      const call: BackendCall = {
        number: ++began,
        ...request,
        status: null,
        firstByteAtMs: null,
        endedAtMs: null,
        outcome: 'running',
        chunksSent: 0,
        usage: null,
        responseId: null,
      }
      running++
      if (keep === 0) return call
      calls.push(call)
      if (calls.length > keep * 2) calls = calls.slice(-keep)
      return call
    },
    end(call, outcome) {
      if (call.outcome !== 'running') return
      call.outcome = outcome
      call.endedAtMs = Date.now()
      running--
    },
    clear() {
      calls = []
    },
  }
}
