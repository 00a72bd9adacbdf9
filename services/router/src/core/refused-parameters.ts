/**
 * Reads from a 400 or 422 which parameters the server does not take at all.
 *
 * A complaint about a value is no such refusal: the next request has another value. Nor is a text that the client wrote
 * itself. Servers quote the request that they refuse, and no client may change how the requests of others are written.
 * So the router believes a vendor's own fields, and the beginnings of sentences that are not in the request.
 */

import { isText, readErrorBody } from './error-response.ts'
import type { ErrorMeanings } from './error-meanings.ts'
import { isObject, membersOf } from '@gateway/contracts/json'
import { OWN_OF_IMAGES, learnableRejections, type Parameter, type Rejection, type Sent } from './parameter-support.ts'

/** Servers and gateways put another's error into theirs, as text. */
const DEEPEST = 3

/** LiteLLM writes its own words in front (chatboxai/chatbox#2627, 2025-09-01). */
const ADAPTER = /^litellm\.\w+: \w+Exception - /

/** The codes by which OpenAI means the parameter, not its value. */
const CODES = new Set<unknown>(['unsupported_parameter', 'unknown_parameter'])

/** Parameters that the router writes itself, always with the same value: a complaint of the value is of the parameter, too. */
const OURS: readonly Parameter[] = ['stream_options', ...OWN_OF_IMAGES]

/** The rejections that the refusal teaches about the target; empty where it names another cause. */
export function readRejections(refusal: string, sent: Sent, { rejectedParameter }: ErrorMeanings): Rejection[] {
  const candidates = learnableRejections(sent)
  const said = readErrorBody(refusal)
  if (candidates.length === 0 || said === null) return []
  const read: Reading = { requestText: clientsWords(sent.body), sentences: rejectedParameter }
  const named = new Set(namesIn(said, read, DEEPEST))
  return candidates.filter(
    ({ parameter }) => named.has(parameter) || (isOurs(parameter) && membersOf(said.error).param === parameter),
  )
}

function isOurs(parameter: Parameter): boolean {
  return OURS.includes(parameter)
}

/** The request without the liberties that JSON allows in writing texts, and without members that the router overwrites. */
function clientsWords(body: Buffer): string {
  const request = JSON.parse(body.toString('utf8')) as Record<string, unknown>
  const entries = Object.entries(request).filter(([name]) => !(OURS as readonly string[]).includes(name))
  return JSON.stringify(Object.fromEntries(entries))
}

interface Reading {
  /** The client's own words prove nothing. */
  requestText: string
  sentences: ErrorMeanings['rejectedParameter']
}

function namesIn(said: unknown, read: Reading, depth: number): string[] {
  if (!isObject(said) || depth === 0) return []
  const error = isObject(said.error) ? said.error : said
  const message = membersOf(error.message)
  const metadata = membersOf(error.metadata)
  const texts = [error.message, said.message, said.error, said.detail, metadata.raw].filter(isText)
  const byCode = CODES.has(error.code) && isText(error.param) ? [error.param] : []
  const details = [said.detail, error.detail, message.detail].flatMap(namesInDetails)
  return [...byCode, ...details, ...texts.flatMap((text) => namesInText(text, read, depth))]
}

/** FastAPI, Mistral: exactly the request's own members, since a client may nest anything. */
function namesInDetails(details: unknown): string[] {
  if (!Array.isArray(details)) return []
  return details.filter(isObject).flatMap(({ type, loc }) => {
    if (type !== 'extra_forbidden' && type !== 'value_error.extra') return []
    if (!Array.isArray(loc) || loc.length !== 2 || loc[0] !== 'body') return []
    return [loc[1] as unknown].filter(isText)
  })
}

function namesInText(text: string, read: Reading, depth: number): string[] {
  if (wrote(read.requestText, text)) return []
  const inner = namesIn(readErrorBody(text), read, depth - 1)
  const lines = text.split('\n', MOST_LINES).flatMap((line) => namesInSentence(line, read))
  return [...inner, ...lines]
}

const MOST_LINES = 20

/** A sentence counts at the beginning of a line alone. */
function namesInSentence(line: string, { requestText, sentences }: Reading): string[] {
  const own = line.replace(ADAPTER, '')
  for (const sentence of sentences) {
    const match = sentence.exec(own)
    if (match?.index === 0) return wrote(requestText, match[0]) ? [] : match[1]!.split(', ').map(inSnakeCase)
  }
  return []
}

function wrote(requestText: string, words: string): boolean {
  return requestText.includes(JSON.stringify(words).slice(1, -1))
}

/** xAI's are `presencePenalty` and `frequencyPenalty`. */
function inSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
