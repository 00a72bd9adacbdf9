/**
 * Reads from a 400 or 422 which parameters the server does not take at all.
 *
 * A complaint about a value is no such refusal: the next request has another value. Only efforts are learned one by
 * one, since all clients have the same few. Nor is a text that the client wrote itself a refusal. Servers quote the
 * request that they refuse, and no client may change how the requests of others are written. So the router believes a
 * vendor's own fields, and the beginnings of sentences that are not in the request.
 */

import { EFFORTS, type Effort } from './effort.ts'
import { isText, readErrorBody } from './error-response.ts'
import type { ErrorMeanings } from './error-meanings.ts'
import { isObject, membersOf, type JsonObject } from '@gateway/contracts/json'
import { OWN_OF_IMAGES, type Parameter } from './parameter-names.ts'
import { learnableRejections, type Rejection, type Sent } from './parameter-support.ts'

/** Servers and gateways put another's error into theirs, as text. */
const DEEPEST = 3

/** LiteLLM writes its own words in front (chatboxai/chatbox#2627, 2025-09-01). */
const ADAPTER = /^litellm\.\w+: \w+Exception - /

/** The codes by which OpenAI means the parameter, not its value. */
const CODES = new Set<unknown>(['unsupported_parameter', 'unknown_parameter'])

/** Parameters that the router writes itself, always with the same value: a complaint of the value is of the parameter, too. */
const OURS: readonly Parameter[] = ['stream_options', ...OWN_OF_IMAGES]

/** The rejections that the refusal teaches about the target; empty where it names another cause. */
export function readRejections(refusal: string, sent: Sent, meanings: ErrorMeanings): Rejection[] {
  const candidates = learnableRejections(sent)
  const body = readErrorBody(refusal)
  if ((candidates.length === 0 && sent.effort == null) || body === null) return []
  const requestText = clientsWords(sent.body)
  const said = unfold(body, requestText, DEEPEST)
  const isOwnWord = (words: string) => wrote(requestText, words)
  const efforts = sent.effort == null ? [] : effortsIn(said, sent.effort, meanings, isOwnWord)
  if (efforts.length > 0) return efforts
  const named = new Set([
    ...said.objects.flatMap(namesInMembers),
    ...said.lines.flatMap((line) => namesInSentence(line, meanings, isOwnWord)),
  ])
  return candidates.filter(
    ({ parameter }) => named.has(parameter) || (isOurs(parameter) && membersOf(body.error).param === parameter),
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

interface Said {
  objects: JsonObject[]
  /** The lines of texts that the client has not written itself. */
  lines: string[]
}

const MOST_LINES = 20

/** The server's words, and those of others that it passes on. */
function unfold(said: unknown, requestText: string, depth: number): Said {
  if (!isObject(said) || depth === 0) return { objects: [], lines: [] }
  const error = isObject(said.error) ? said.error : said
  const metadata = membersOf(error.metadata)
  const texts = [error.message, said.message, said.error, said.detail, metadata.raw].filter(isText)
  const trusted = texts.filter((text) => !wrote(requestText, text))
  const inner = trusted.map((text) => unfold(readErrorBody(text), requestText, depth - 1))
  const lines = trusted.flatMap((text) => text.split('\n', MOST_LINES)).map((line) => line.replace(ADAPTER, ''))
  return {
    objects: [said, ...inner.flatMap(({ objects }) => objects)],
    lines: [...lines, ...inner.flatMap((one) => one.lines)],
  }
}

/** The vendor's own fields: codes, and FastAPI's details. */
function namesInMembers(said: JsonObject): string[] {
  const error = isObject(said.error) ? said.error : said
  const byCode = CODES.has(error.code) && isText(error.param) ? [error.param] : []
  return [...byCode, ...[said.detail, error.detail, membersOf(error.message).detail].flatMap(namesInDetails)]
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

/** A sentence counts at the beginning of a line alone. */
function namesInSentence(
  line: string,
  { rejectedParameter }: ErrorMeanings,
  isOwnWord: (words: string) => boolean,
): string[] {
  for (const sign of rejectedParameter) {
    const match = ('is' in sign ? sign.sentence : sign).exec(line)
    if (match?.index !== 0) continue
    if (isOwnWord(match[0])) return []
    return 'is' in sign ? [sign.is] : match[1]!.split(', ').map(inSnakeCase)
  }
  return []
}

/** The efforts that the model does not take: all but those that its refusal lists, or the one that was sent. */
function effortsIn(
  { objects, lines }: Said,
  sent: Effort,
  { rejectedEffort }: ErrorMeanings,
  isOwnWord: (words: string) => boolean,
): Rejection[] {
  // OpenAI's sentence is the same for every parameter with a few values.
  if (objects.some(namesOtherThanEffort)) return []
  for (const line of lines)
    for (const sentence of rejectedEffort) {
      const match = sentence.exec(line)
      if (match?.index !== 0 || isOwnWord(match[0])) continue
      const { value = sent, taken: list = '' } = match.groups ?? {}
      const taken = EFFORTS.filter((effort) => list.match(/[a-z]+/g)?.includes(effort))
      const refused = taken.length === 0 ? [sent] : EFFORTS.filter((effort) => !taken.includes(effort))
      if (value.toLowerCase() === sent && refused.includes(sent))
        return refused.map((effort) => ({ parameter: 'reasoning_effort', effort }))
    }
  return []
}

function namesOtherThanEffort(said: JsonObject): boolean {
  const { param } = isObject(said.error) ? said.error : said
  return isText(param) && !/effort|thinking|reasoning/.test(param)
}

function wrote(requestText: string, words: string): boolean {
  return requestText.includes(JSON.stringify(words).slice(1, -1))
}

/** xAI's are `presencePenalty` and `frequencyPenalty`. */
function inSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
