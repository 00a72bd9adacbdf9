/**
 * Finds a vendor's word that our own account is the trouble. Some vendors respond with a 400, which elsewhere means a
 * wrong request. They send it for a bad credential, a disabled account, an unpaid account and a model that the account
 * does not have. Some report an unpaid account with the 429 of a passing limit, or with the 403 of a bad credential.
 *
 * Only a vendor's own fields and the beginning of its sentence count. A sentence that the client wrote itself proves
 * nothing: backends quote the request that they refuse. No client may take a backend from all the others.
 */

import { isText, readErrorBody } from './error-response.ts'
import type { AccountSign, ErrorMeanings } from './error-meanings.ts'
import { isObject, membersOf } from '@gateway/contracts/json'

/**
 * The trouble that a sign reports. `quoted`: the client itself wrote these words, or the conversation that a template
 * refuses, so the router cannot know.
 */
export type AccountTrouble = Exclude<AccountSign['is'], 'passing'> | 'quoted'

/** The reasons for which a target serves nothing until an operator acts. */
export type Trouble = 'missing' | 'refused' | 'unpaid' | 'no_model'

/** Aggregators put another vendor's error into theirs, as text. */
const DEEPEST = 3

export function isRequestFaultAnyway(
  status: number | undefined,
  body: string,
  { requestFaults }: ErrorMeanings,
): boolean {
  const patterns = requestFaults[status ?? 0]
  if (patterns === undefined) return false
  if (status === 403 && isModeration(body)) return true
  const { sentences } = wordsOf(readErrorBody(body), DEEPEST)
  return patterns.some((pattern) => firstMatch(sentences, pattern) !== null)
}

/**
 * A chat template has refused the conversation, which some servers report as their own failure: llama.cpp
 * (anomalyco/opencode#19840, 2026-03-29), and LM Studio in an event.
 */
export function refusesByTemplate(body: string): boolean {
  const { sentences } = wordsOf(readErrorBody(body), DEEPEST)
  return firstMatch(sentences, TEMPLATE_REFUSAL) !== null
}

const TEMPLATE_REFUSAL = /\bJinja Exception: |\broles must alternate\b|\bSystem message must be at the beginning\b/i

/** Names of things: `file_011CNha8iCJcU1wXNR6q4V8w`, `vs_abc123`. */
const NAMES = /\b[A-Za-z]{2,}[-_][\w-]{6,}/g

/** A 404 that names something of the client's may be of that, and not of the model. */
export function missesClientsOwn(body: string, clientRequest: Buffer): boolean {
  const { codes, sentences } = wordsOf(readErrorBody(body), DEEPEST)
  if (codes.includes('model_not_found')) return false
  return sentences.some((text) =>
    (text.match(NAMES) ?? []).slice(0, MOST_NAMES).some((name) => wrote(clientRequest, name)),
  )
}

const MOST_NAMES = 5

/** `clientRequest`: the client's request. */
export function accountTroubleIn(
  body: string,
  clientRequest: Buffer,
  { account }: ErrorMeanings,
): AccountTrouble | null {
  const { codes, sentences } = wordsOf(readErrorBody(body), DEEPEST)
  for (const { is, code, sentence } of account) {
    const found = code === undefined ? firstMatch(sentences, sentence!) : codes.includes(code) ? code : null
    if (found === null) continue
    if (wrote(clientRequest, found)) return 'quoted'
    return is === 'passing' ? null : is
  }
  return null
}

/**
 * A moderation that flagged the client's own words, which OpenRouter reports with a 403
 * (openrouter.ai/docs/api/reference/errors-and-debugging, read in November 2026).
 */
function isModeration(body: string): boolean {
  const error = membersOf(readErrorBody(body)?.error)
  return isObject(error.metadata) && (Array.isArray(error.metadata.reasons) || 'flagged_input' in error.metadata)
}

function firstMatch(sentences: string[], pattern: RegExp): string | null {
  for (const text of sentences) {
    const match = pattern.exec(text)
    if (match) return match[0]
  }
  return null
}

function wrote(clientRequest: Buffer, words: string): boolean {
  return clientRequest.includes(words)
}

interface Words {
  codes: string[]
  sentences: string[]
}

function wordsOf(said: unknown, depth: number): Words {
  if (!isObject(said)) return { codes: [], sentences: [] }
  const error = isObject(said.error) ? said.error : said
  const codes = [error.code, error.status, error.type, said.__type, said.code, ...reasonsOf(error.details)]
  const sentences = [said.error, error.message, said.message]
  const raw = isObject(error.metadata) ? error.metadata.raw : undefined
  const words = { codes: codes.filter(isText).map(withoutNamespace), sentences: sentences.filter(isText) }
  if (depth === 0) return words
  for (const text of [...words.sentences, raw].filter(isText)) {
    const inner = wordsOf(readErrorBody(text), depth - 1)
    words.codes.push(...inner.codes)
    words.sentences.push(...inner.sentences)
  }
  return words
}

function reasonsOf(details: unknown): unknown[] {
  return Array.isArray(details) ? details.filter(isObject).map(({ reason }) => reason) : []
}

/** AWS writes `com.amazon.coral.service#AccessDeniedException`. */
function withoutNamespace(code: string): string {
  return code.slice(code.indexOf('#') + 1)
}
