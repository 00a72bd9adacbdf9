/**
 * A conformance run finds the abilities of one model of a server. It sends one request after the other, so that a server with
 * one slot is judged fairly. The run costs at most the amount that `costOf` returns.
 */

import { CHECKS, type Check, type Finding, type Probing } from './checks.ts'
import type { ListedModel, ServerKind } from './describe-server.ts'

import type { Server } from './server.ts'

export interface Cost {
  requests: number
  /** The prompt of each request has less than 300 tokens. */
  promptTokens: number
  completionTokens: number
}

const LONGEST_REQUEST_TOKENS = 300

export interface Probed {
  model: ListedModel
  findings: Finding[]
}

function checksOf({ does }: ListedModel): Check[] {
  return CHECKS.filter((check) => check.does === does)
}

export function costOf(models: readonly ListedModel[]): Cost {
  const checks = models.flatMap(checksOf)
  const requests = checks.reduce((sum, check) => sum + check.requests, 0)
  // The probe sends a refused cap again under its other name, once.
  const completionTokens = checks.reduce((sum, { atMostTokens }) => sum + atMostTokens, 0)
  return { requests, promptTokens: requests * LONGEST_REQUEST_TOKENS, completionTokens }
}

interface ProbeOptions {
  server: Server
  kind: ServerKind | null
  model: ListedModel
  only?: readonly string[]
  notify?(finding: Finding): void
}

export async function probe({ server, kind, model, only, notify }: ProbeOptions): Promise<Probed> {
  const probing = openProbing(server, kind, model.id)
  const findings: Finding[] = []
  for (const check of checksOf(model)) {
    if (only && !only.includes(check.name)) continue
    const { result, note } = await check.run(probing)
    const finding = { check: check.name, result, note: note.replaceAll(/\s+/g, ' ') }
    findings.push(finding)
    notify?.(finding)
    // Without a response there is nothing to find out, and without a cap a request may cost anything.
    if (check.name === 'chat' && (result === 'no' || result === 'no response')) break
  }
  return { model, findings }
}

const CAP_NAMES = ['max_tokens', 'max_completion_tokens'] as const

function openProbing(server: Server, kind: ServerKind | null, model: string): Probing {
  let capName: (typeof CAP_NAMES)[number] = CAP_NAMES[0]
  return {
    server,
    kind,
    model,
    chatAsWritten: (body) => server.chat({ model, ...body }),
    chat: async (body, capTokens, leave) => {
      const sendRequest = () => server.chat({ model, ...body, [capName]: capTokens }, leave)
      const reply = await sendRequest()
      if (reply.status !== 400 || !reply.error.includes(capName)) return reply
      capName = CAP_NAMES.find((name) => name !== capName)!
      return sendRequest()
    },
  }
}

export function resultOf(findings: readonly Finding[], check: string): Finding['result'] {
  return findings.find((finding) => finding.check === check)?.result ?? 'unknown'
}
