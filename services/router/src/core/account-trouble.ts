/**
 * Finds a vendor's word that our own account is the trouble. Some vendors answer a 400, which blames the request, to a
 * bad credential, to a disabled account, to one that has not been paid and to a model that it does not have. Some tell
 * of an unpaid account with the 429 of a passing limit, or with the 403 of a bad credential.
 *
 * Only a vendor's own fields and the beginning of its sentence count. A sentence that the client wrote itself proves
 * nothing: backends quote the request that they refuse, and no client may take a backend from all the others.
 */

import { isText, readErrorBody } from './error-answer.ts'
import { isObject, membersOf } from '@gateway/contracts/json'

/**
 * `credential`: nothing will be served until an operator acts. `unpaid`: nothing until someone pays, or a new month.
 * `no_model`: nothing of this model. `quoted`: the client itself wrote these words, or the conversation that a template
 * refuses, so the router cannot tell.
 */
export type AccountTrouble = 'credential' | 'unpaid' | 'no_model' | 'quoted'

/** The reasons for which a target serves nothing until an operator acts. */
export type Trouble = 'missing' | 'refused' | 'unpaid' | 'no_model'

interface Sign {
  is: Exclude<AccountTrouble, 'quoted'>
  /** A code of the vendor: `error.code`, `error.status`, `error.details[].reason`, `__type`. */
  code?: string
  /** How the vendor's sentence begins. */
  sentence?: RegExp
}

/** As seen in November 2026. */
const SIGNS: readonly Sign[] = [
  // Gemini: github.com/google-gemini/gemini-cli/issues/25198 (2026-04-12), github.com/continuedev/continue/issues/11336 (2026-03-12).
  { is: 'credential', code: 'API_KEY_INVALID' },
  { is: 'credential', sentence: /^API key (?:not valid|not found|expired)\b/i },
  // Gemini, no free tier where the router is: ai.google.dev/gemini-api/docs/troubleshooting, github.com/google-gemini/gemini-cli/issues/24641 (2026-04-03).
  { is: 'credential', sentence: /^User location is not supported for the API use\b/i },
  // xAI: github.com/continuedev/continue/issues/11704 (2026-03-22), github.com/openai/codex/issues/1352 (2025-06-19).
  { is: 'credential', sentence: /^Incorrect API key provided\b/i },
  { is: 'credential', code: 'invalid_api_key' },
  // Anthropic: github.com/anthropics/claude-code/issues/72457 (2026-06-30).
  { is: 'credential', sentence: /^This organization has been disabled\b/i },
  // Bedrock, all with 400: docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html.
  { is: 'credential', code: 'IncompleteSignature' },
  { is: 'credential', code: 'NotAuthorized' },
  { is: 'credential', code: 'AccessDeniedException' },
  { is: 'credential', code: 'UnrecognizedClientException' },
  { is: 'credential', code: 'ExpiredTokenException' },
  // Anthropic: docs.anthropic.com/en/api/errors; the sentence with a 400 since 2024.
  { is: 'unpaid', sentence: /^Your credit balance is too low\b/i },
  { is: 'unpaid', sentence: /^You have reached your specified (?:API|workspace API) usage limits\b/i },
  // OpenAI: github.com/all-in-aigc/aiwallpaper/issues/2 (2024-08-01).
  { is: 'unpaid', code: 'billing_hard_limit_reached' },
  { is: 'unpaid', sentence: /^Billing hard limit has been reached\b/i },
  // OpenAI with a 429: github.com/langchain-ai/langchainjs/issues/1929 (2023-07-11), github.com/continuedev/continue/issues/10835 (2026-02-25).
  { is: 'unpaid', code: 'insufficient_quota' },
  // Anthropic with a 429: learn.microsoft.com/microsoft-cloud/dev/dev-proxy/concepts/anthropic-529-overloaded-error, November 2026.
  { is: 'unpaid', code: 'enforced_spend_limit_reached' },
  // Google with a 403: cloud.google.com/service-usage/docs/reference/rest/v1/ErrorReason, November 2026.
  { is: 'unpaid', code: 'BILLING_DISABLED' },
  // OpenRouter: github.com/OpenRouterTeam/openrouter-examples/issues/74 (2026-05-06).
  { is: 'no_model', sentence: /^\S+ is not a valid model ID$/ },
  // Bedrock: github.com/earendil-works/pi/issues/4993 (2026-05-25).
  { is: 'no_model', sentence: /^The provided model identifier is invalid\b/ },
  // LM Studio and others: assumed to be OpenAI's code with a 400.
  { is: 'no_model', code: 'model_not_found' },
]

/** Aggregators put another vendor's error into theirs, as text. */
const DEEPEST = 3

/**
 * A vendor's words that blame the request itself, under a status that elsewhere refuses our credential or the target's model.
 */
const BLAMES_REQUEST: Record<number, readonly RegExp[]> = {
  403: [
    // xAI: github.com/Wei-Shaw/sub2api/pull/5359 (2026-08-07).
    /^Content violates usage guidelines\b/i,
    // Together: docs.together.ai/docs/error-codes, November 2026.
    /\bmust be less than the context length\b/i,
  ],
  404: [
    // OpenRouter: github.com/OpenRouterTeam/ai-sdk-provider/issues/451 (2026-04-03), JohnnyZ93/oai-compatible-copilot#229 (2026-05-08).
    /^No endpoints found that (?:support|can handle)\b/i,
    // OpenAI: github.com/can1357/oh-my-pi/issues/41 (2026-02-12).
    /^Item (?:with id )?'[\w-]+' not found\b/i,
    // Of files that a client names: assumed.
    /^(?:File not found|No such File object)\b/i,
  ],
}

export function blamesRequestAnyway(status: number | undefined, body: string): boolean {
  const patterns = BLAMES_REQUEST[status ?? 0]
  if (patterns === undefined) return false
  if (status === 403 && isModeration(body)) return true
  const { sentences } = wordsOf(readErrorBody(body), DEEPEST)
  return patterns.some((pattern) => firstMatch(sentences, pattern) !== null)
}

/**
 * A chat template has refused the conversation, which some servers tell as a failure of their own: llama.cpp
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
export function missesClientsOwn(body: string, asked: Buffer): boolean {
  const { codes, sentences } = wordsOf(readErrorBody(body), DEEPEST)
  if (codes.includes('model_not_found')) return false
  return sentences.some((text) => (text.match(NAMES) ?? []).slice(0, MOST_NAMES).some((name) => wrote(asked, name)))
}

const MOST_NAMES = 5

/** `asked`: the client's request. */
export function accountTroubleIn(body: string, asked: Buffer): AccountTrouble | null {
  const { codes, sentences } = wordsOf(readErrorBody(body), DEEPEST)
  for (const { is, code, sentence } of SIGNS) {
    const found = code === undefined ? firstMatch(sentences, sentence!) : codes.includes(code) ? code : null
    if (found !== null) return wrote(asked, found) ? 'quoted' : is
  }
  return null
}

/**
 * A moderation that flagged the client's own words, which OpenRouter tells with a 403
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

function wrote(asked: Buffer, words: string): boolean {
  return asked.includes(words)
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
