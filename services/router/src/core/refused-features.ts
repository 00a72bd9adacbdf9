/**
 * The features of the Messages API that a target refuses: flags of the `anthropic-beta` header, and members of a request
 * that belong to a flag. Coding tools send all that Anthropic's own API has. Another server of the API refuses a flag
 * that it does not know, with a 400.
 *
 * The router leaves out a refused feature, names it for the client, and remembers it for that target
 * (`core/feature-memory.ts`). It believes a sentence only where the client did not write it. Members whose loss changes
 * the meaning of a response are not here.
 */

import { isObject, objectsOf, parseExactly, type JsonObject } from '@gateway/contracts/json'
import { isText, readErrorBody } from './error-response.ts'

/** By name: `anthropic-beta.<flag>`, or one of `MEMBERS`. */
export type RefusedFeatures = ReadonlySet<string>
export const NO_FEATURES: RefusedFeatures = new Set()

export const FLAG = 'anthropic-beta.'

/** The flags and their members stand in code.claude.com/docs/en/llm-gateway-protocol.md, 2026-08. */
const MEMBERS = [
  'context_management',
  'diagnostics',
  'output_config',
  'output_config.effort',
  'output_config.task_budget',
  'tools.allowed_callers',
  'tools.defer_loading',
  'tools.eager_input_streaming',
  'tools.input_examples',
  'tools.strict',
  'cache_control.scope',
  'cache_control.ttl',
]

/** QuantumNous/new-api#2975 (2026-02-20), zed-industries/zed#42715 (2025-11-14): Vertex, also behind other proxies. */
const REFUSED_FLAGS = /Unexpected value\(s\) ([\w.,`'" -]{1,4000}?) for the [`'"]?anthropic-beta[`'"]? header/i
/** Bedrock names none: anthropics/claude-code#82549 (2026-07-30). */
const SOME_FLAG = /\binvalid beta flag\b/i
/** anthropics/claude-code#31033 (2026-03-05), #39589 (2026-03-26): `tools.0.custom.defer_loading`. */
const EXTRA_MEMBER = /([a-z_]{1,64}(?:\.[a-z_0-9]{1,64}){0,16}): Extra inputs are not permitted/

export interface SentFeatures {
  /** The client's flags, in one text; undefined where it sent none. */
  beta: string | undefined
  /** All other words of the client. */
  body: Buffer
  headers: Readonly<Record<string, string>> | undefined
  /** They were left out already. */
  refused: RefusedFeatures
}

export interface FeatureRefusal {
  /** The refused member; undefined where at least one of the flags is refused. */
  member: string | undefined
  /** The refused flags, or those that went with the member. */
  flags: readonly string[]
}

/** The features that a refusal names, of those that were sent. */
export function readRefusedFeatures(refusal: string, sent: SentFeatures): FeatureRefusal[] {
  const texts = textsIn(readErrorBody(refusal), DEEPEST)
  if (texts.length === 0) return []
  const clientsWords = sent.body.toString('utf8') + JSON.stringify(sent.headers ?? {})
  const find = (pattern: RegExp) =>
    texts.map((text) => pattern.exec(text)).find((match) => match !== null && !clientsWords.includes(inJson(match[0])))
  const isNew = (name: string) => !sent.refused.has(name)
  const flags = flagsOf(sent.beta).filter((flag) => isNew(FLAG + flag))
  const named = find(REFUSED_FLAGS)?.[1]?.match(/[\w.-]+/g)
  const together = named
    ? flags.filter((flag) => named.includes(flag)).map((flag) => [flag])
    : find(SOME_FLAG)
      ? [flags]
      : []
  const refused = together.filter((some) => some.length > 0).map((some) => ({ member: undefined, flags: some }))
  const member = memberAt(find(EXTRA_MEMBER)?.[1], sent.body)
  return [...refused, ...(member !== undefined && isNew(member) ? [{ member, flags }] : [])]
}

/** Proxies put another's error into theirs, as text. */
const DEEPEST = 3

function textsIn(said: unknown, depth: number): string[] {
  if (!isObject(said) || depth === 0) return []
  const error = isObject(said.error) ? said.error : said
  const own = [error.message, said.message, said.error, said.detail].filter(isText)
  return own.flatMap((text) => [text, ...textsIn(readErrorBody(text), depth - 1)])
}

function inJson(words: string): string {
  return JSON.stringify(words).slice(1, -1)
}

/**
 * `tools.0.custom.defer_loading` is `tools.defer_loading`; the hint of a cache may stand anywhere. A tool of the vendor's may
 * lack a member that the client's own tools have.
 */
function memberAt(path: string | undefined, body: Buffer): string | undefined {
  const steps = path?.split('.') ?? []
  const last = steps.at(-1)
  if (steps.includes('cache_control')) return MEMBERS.find((member) => member === `cache_control.${last}`)
  if (steps[0] === 'tools' && steps[2] !== 'custom' && !(steps.length === 3 && hasOwnToolsAlone(body))) return undefined
  return MEMBERS.find((member) => member === (steps.length > 1 ? `${steps[0]}.${last}` : last))
}

function hasOwnToolsAlone(body: Buffer): boolean {
  const { tools } = JSON.parse(body.toString('utf8')) as JsonObject
  return objectsOf(tools).every(({ type }) => type === undefined || type === 'custom')
}

export function flagsOf(beta: string | undefined): string[] {
  return (beta ?? '').split(',').flatMap((flag) => flag.trim() || [])
}

/** The header without those flags: the same text where it has none of them, and undefined where none is left. */
export function withoutFlags(
  beta: string | undefined,
  refused: RefusedFeatures,
): { beta: string | undefined; dropped: string[] } {
  if (beta === undefined || refused.size === 0) return { beta, dropped: [] }
  const flags = flagsOf(beta)
  const dropped = flags.map((flag) => FLAG + flag).filter((name) => refused.has(name))
  if (dropped.length === 0) return { beta, dropped }
  const left = flags.filter((flag) => !refused.has(FLAG + flag))
  return { beta: left.length === 0 ? undefined : left.join(','), dropped: [...new Set(dropped)] }
}

/** The request without those members; the same bytes where it has none of them. */
export function withoutMembers(body: Buffer, refused: RefusedFeatures): { body: Buffer; dropped: string[] } {
  const members = MEMBERS.filter((member) => refused.has(member))
  if (!members.some((member) => body.includes(`"${member.split('.').at(-1)!}"`))) return { body, dropped: [] }
  const request = parseExactly(body.toString('utf8')) as JsonObject
  const dropped = members.filter((member) => remove(request, member))
  return dropped.length === 0 ? { body, dropped } : { body: Buffer.from(JSON.stringify(request)), dropped }
}

/** True if something is gone. */
function remove(request: JsonObject, member: string): boolean {
  const [owner, name] = member.split('.') as [string, string | undefined]
  if (name === undefined) return !holdsFormat(request[owner]) && removeFrom([request], owner)
  if (owner === 'cache_control') return removeFrom(cacheHintsIn(request), name)
  return removeFrom(owner === 'tools' ? objectsOf(request.tools) : [request[owner]].filter(isObject), name)
}

/** The client counts on the format of its response. */
function holdsFormat(value: unknown): boolean {
  return isObject(value) && value.format != null
}

function removeFrom(objects: JsonObject[], name: string): boolean {
  const found = objects.filter((object) => Object.hasOwn(object, name))
  for (const object of found) delete object[name]
  return found.length > 0
}

/** A block of a message may hold blocks, as a tool's result does. */
function cacheHintsIn(request: JsonObject): JsonObject[] {
  const messages = objectsOf(request.messages).flatMap(({ content }) => objectsOf(content))
  const inner = messages.flatMap(({ content }) => objectsOf(content))
  const owners = [request, ...objectsOf(request.system), ...objectsOf(request.tools), ...messages, ...inner]
  return owners.map((owner) => owner.cache_control).filter(isObject)
}
