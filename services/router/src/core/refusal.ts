/**
 * Writes a target's refusal of a request in words that the client's software knows. The target's sentence stays whole.
 * Clients act on some refusals: they shorten a conversation, or report a policy. There the router adds the code and the
 * phrase that they look for.
 */

import { membersOf } from '@gateway/contracts/json'
import type { TargetRefusal } from '@gateway/contracts/job'
import { refusalSentence } from '@gateway/contracts/refusal-sentence'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { isText, readErrorBody } from './error-response.ts'
import { COMMON_MEANINGS, type ErrorMeanings } from './error-meanings.ts'

/** `body`: of the target, without its secrets. */
export function refusalOf(
  dialect: ClientDialect,
  body: string | undefined,
  meanings: ErrorMeanings = COMMON_MEANINGS,
): TargetRefusal {
  const said = membersOf(body === undefined ? null : readErrorBody(body))
  const error = { ...said, ...membersOf(said.error) }
  const own = { code: codeIn(error), type: word(error.type), param: isText(error.param) ? error.param : null }
  const sentence = refusalSentence(JSON.stringify(said)) ?? 'The backend refused the request'
  const { type = INVALID, param } = own
  if (isTooLong(meanings, sentence, own.code, own.type)) {
    return { message: overflowIn(dialect, sentence, error, meanings), code: 'context_length_exceeded', type, param }
  }
  if (isFiltered(meanings, sentence, own.code)) {
    return { message: filteredIn(dialect, sentence), code: knownFilter(own.code), type, param }
  }
  return { message: sentence, code: own.code ?? INVALID, type, param }
}

/** The word that DeepSeek and others write for a code where OpenAI has none. */
const INVALID = 'invalid_request_error'

const WORD = /^[A-Za-z][\w.-]{0,99}$/

/** A code or type as vendors name them; a number is a status. */
function word(value: unknown): string | undefined {
  return isText(value) && WORD.test(value) ? value : undefined
}

/** Google's is its `status`. */
function codeIn({ code, status }: Record<string, unknown>): string | undefined {
  return word(code) ?? word(status)
}

function isTooLong({ tooLong }: ErrorMeanings, ...words: (string | undefined)[]): boolean {
  return words.some((text) => text !== undefined && tooLong.some((pattern) => pattern.test(text)))
}

/**
 * LangChain and LiteLLM look for it in the sentence, since OpenAI's client of 2026 shows no other part of an error.
 * Versions: langchain-openai 1.7, litellm 1.110, openai 3.57. Claude Code shortens its conversation by it, and reads
 * the numbers.
 */
const PHRASE = 'prompt is too long'
/** Anthropic's of a prompt that fits, with a response that does not: Claude Code then requests a shorter one. */
const RESPONSE_TOO_LONG = 'exceed context limit'

function overflowIn(
  dialect: ClientDialect,
  sentence: string,
  error: Record<string, unknown>,
  meanings: ErrorMeanings,
): string {
  const isSaid = sentence.includes(PHRASE)
  if (dialect !== 'messages') return isSaid ? sentence : `${sentence} (${PHRASE})`
  if (sentence.includes(RESPONSE_TOO_LONG) || sentence.startsWith(`${PHRASE}:`)) return sentence
  const numbers = numbersIn(sentence, error, meanings)
  return numbers
    ? `${PHRASE}: ${numbers.promptTokens} tokens > ${numbers.most} maximum. ${sentence}`
    : isSaid
      ? sentence
      : `${PHRASE}: ${sentence}`
}

interface Numbers {
  promptTokens: number
  most: number
}

function numbersIn(
  sentence: string,
  { n_prompt_tokens: promptTokens, n_ctx: most }: Record<string, unknown>,
  { tooLong }: ErrorMeanings,
): Numbers | null {
  if (typeof promptTokens === 'number' && typeof most === 'number') return { promptTokens, most }
  for (const pattern of tooLong) {
    const groups = pattern.exec(sentence)?.groups
    if (groups?.promptTokens !== undefined && groups.most !== undefined)
      return { promptTokens: Number(groups.promptTokens), most: Number(groups.most) }
  }
  const of = (patterns: readonly RegExp[]) => {
    const found = patterns.map((pattern) => pattern.exec(sentence)?.[1]).find((digits) => digits !== undefined)
    return found === undefined ? null : Number(found)
  }
  const prompt = of(REQUESTED)
  const window = of(MOST)
  return prompt === null || window === null ? null : { promptTokens: prompt, most: window }
}

const REQUESTED = [
  /(?:resulted in|requested(?: about)?|You passed) (\d+) (?:input )?tokens/,
  /(?:input|request) \((\d+) tokens\)/,
  /input token count \((\d+)\)/,
  /n_keep: (\d+)/,
]
const MOST = [
  /maximum input length of (\d+) tokens/,
  /context length is (?:only )?(\d+) tokens/,
  /context (?:length|size) \((\d+) tokens\)/,
  /number of tokens allowed \((\d+)\)/,
  /n_ctx: (\d+)/,
]

function isFiltered({ filtered }: ErrorMeanings, sentence: string, code: string | undefined): boolean {
  return filtered.some((words) => (typeof words === 'string' ? words === code : words.test(sentence)))
}

/** Clients look for these codes, even where the vendor has a code of its own. */
const FILTER_CODES = ['content_filter', 'content_policy_violation']

function knownFilter(code: string | undefined): string {
  return FILTER_CODES.find((known) => known === code) ?? 'content_filter'
}

/** LiteLLM looks for this one. */
const FILTER_PHRASE = 'the request was rejected as a result of the safety system'

function filteredIn(dialect: ClientDialect, sentence: string): string {
  const isKnown = dialect === 'messages' && sentence.includes('content filtering policy')
  return isKnown || sentence.includes(FILTER_PHRASE) ? sentence : `${sentence} (${FILTER_PHRASE})`
}
