/**
 * The form in which a target takes requests: the parameters that it refuses, and the router's replacements.
 *
 * Servers agree on no set of parameters. The router knows some rejections by vendor and model (`vendors/`), and learns
 * the others from responses (`core/refused-parameters.ts`). It renames a cap of tokens and the role of the system's
 * message, and sends the nearest effort that is taken. It leaves out a parameter of its own, and one of the client's
 * whose loss changes no meaning; the client is informed of the latter. Everything else (`tools`, `response_format`, `n`,
 * `stop`) stays, so the target's refusal goes to the client. Where a target would ignore `n` without a word, the router
 * refuses in its place.
 */

import { parseExactly, objectsOf } from '@gateway/contracts/json'
import { refused } from './backend-fault.ts'
import { changesThinking, EFFORTS, isEffort, nearestEffort, type Effort } from './effort.ts'
import {
  CAPS,
  DROPPED,
  IGNORED,
  OWN_OF_CHAT,
  OWN_OF_IMAGES,
  SYSTEM_ROLES,
  type Cap,
  type OwnOfMessages,
  type Parameter,
} from './parameter-names.ts'

/** Models that reason take these at some efforts only (GPT-5.1 and later: vercel/ai#10932, 2025). */
const BY_EFFORT = new Set<Parameter>(DROPPED.slice(0, 7))
/** A refusal at any other value teaches nothing. */
const KNOWN_EFFORTS = new Set<string>(['', ...EFFORTS])

export interface Rejection {
  parameter: Parameter
  /** Only requests with this `reasoning_effort` are refused; `''` stands for those without one. */
  effort?: string
}
export type ParameterSupport = readonly Rejection[]

export interface LearnedRejection extends Rejection {
  /** The router then tries the parameter again, since an operator may have upgraded the server. */
  untilMs: number
}

/** Removes one of `known` for a new learned rejection, when the new one refuses its counterpart. */
export function withLearned(
  known: ParameterSupport,
  learned: readonly LearnedRejection[],
  nowMs: number,
): ParameterSupport {
  const alive = learned.filter(({ untilMs }) => untilMs > nowMs)
  if (alive.length === 0) return known
  return [...known.filter(({ parameter }) => !refuses(alive, counterpart(parameter))), ...alive]
}

/** True if requests of every effort are refused. */
export function refuses(form: ParameterSupport, parameter: Parameter | null): boolean {
  return form.some((refusal) => refusal.parameter === parameter && refusal.effort === undefined)
}

function counterpart(parameter: Parameter): Parameter | null {
  for (const pair of [CAPS, SYSTEM_ROLES]) {
    const at = (pair as readonly Parameter[]).indexOf(parameter)
    if (at >= 0) return pair[1 - at]!
  }
  return null
}

/** The name under which a target takes a cap; null where it takes none. */
export function capName(form: ParameterSupport): Cap | null {
  if (!refuses(form, 'max_tokens')) return 'max_tokens'
  return refuses(form, 'max_completion_tokens') ? null : 'max_completion_tokens'
}

export interface FittedChat {
  body: Buffer
  /** The client's parameters that were left out. */
  dropped: string[]
}

/** The client's body as the target takes it: the same bytes, unless they hold a member that it refuses. */
export function fitChat(body: Buffer, form: ParameterSupport): FittedChat {
  const names = new Set(form.map(({ parameter }) => parameter))
  if (![...names].some((name) => body.includes(`"${name}"`))) return { body, dropped: [] }
  const chat = parseExactly(body.toString('utf8')) as Record<string, unknown>
  if (refuses(form, 'n') && Number(chat.n ?? 1) > 1) throw refused('n', 'must be 1 for this model')
  const dropped = fit(chat, form)
  return dropped === null ? { body, dropped: [] } : { body: Buffer.from(JSON.stringify(chat)), dropped }
}

/**
 * Changes the request into the target's form. Returns the client's parameters that were left out, or null where nothing
 * changed.
 */
function fit(chat: Record<string, unknown>, form: ParameterSupport): string[] | null {
  // First, since the others are refused by the effort that is sent.
  const effort = fitEffort(chat, form)
  const applying = applyingTo(form, chat)
  const dropped = joined(joined(effort, dropFrom(chat, applying)), dropIgnored(chat, applying))
  const renamed = [renameCap(chat, applying), renameRoles(chat, applying)].includes(true)
  return renamed ? (dropped ?? []) : dropped
}

/**
 * Writes the nearest effort that the target takes. Returns null where nothing changed, and names the parameter where the
 * client is to know: the target takes no effort, or thinks against the request.
 */
export function fitEffort(chat: Record<string, unknown>, form: ParameterSupport): string[] | null {
  const { reasoning_effort: requested } = chat
  if (requested === undefined) return null
  const refusals = form.filter(({ parameter }) => parameter === 'reasoning_effort')
  const isTaken = (effort: Effort) => !refusals.some(({ effort: at }) => at === undefined || at === effort)
  if (refuses(refusals, 'reasoning_effort')) {
    delete chat.reasoning_effort
    return requested === null ? [] : ['reasoning_effort']
  }
  // The target judges a value that nobody knows.
  if (!isEffort(requested) || isTaken(requested)) return null
  const sent = nearestEffort(requested, isTaken)
  if (sent === null) delete chat.reasoning_effort
  else chat.reasoning_effort = sent
  return sent === null || changesThinking(requested, sent) ? ['reasoning_effort'] : []
}

/** The refusals of a target that takes these efforts alone; a target of which none are known refuses none. */
export function refusedEfforts(taken: readonly Effort[] | undefined): ParameterSupport {
  if (taken === undefined) return []
  return EFFORTS.filter((effort) => !taken.includes(effort)).map((effort) => ({
    parameter: 'reasoning_effort',
    effort,
  }))
}

/** The refusals that concern this request: some hold at one effort only. */
export function applyingTo(form: ParameterSupport, chat: Record<string, unknown>): ParameterSupport {
  const effort = effortOf(chat)
  return form.filter((refusal) => refusal.effort === undefined || refusal.effort === effort)
}

function effortOf({ reasoning_effort: effort }: Record<string, unknown>): string | null {
  return effort == null ? '' : typeof effort === 'string' ? effort : null
}

/** Null where there is nothing to leave out. A null counts as none, and nobody misses it. */
function dropFrom(chat: Record<string, unknown>, applying: ParameterSupport): string[] | null {
  const refused = new Set(applying.map(({ parameter }) => parameter))
  // The second means nothing without the first, and is an error at some servers.
  if (refused.has('logprobs')) refused.add('top_logprobs')
  const present = DROPPED.filter((name) => refused.has(name) && name in chat)
  if (present.length === 0) return null
  const missed = present.filter((name) => chat[name] !== null)
  for (const name of present) delete chat[name]
  return missed
}

/** Nobody misses one choice of a response, or a free choice among tools. Where no tool may be called, the target sees none. */
function dropIgnored(chat: Record<string, unknown>, applying: ParameterSupport): string[] | null {
  const present = IGNORED.filter((name) => name in chat && hasRefused(applying, name))
  if (present.length === 0) return null
  if (present.includes('tool_choice') && chat.tool_choice === 'none') delete chat.tools
  const missed = present.filter((name) => !USUAL[name].includes(chat[name]))
  for (const name of present) delete chat[name]
  return missed
}

/** A target that ignores the parameter does this anyway. */
const USUAL: Record<(typeof IGNORED)[number], unknown[]> = {
  n: [1, null],
  tool_choice: ['auto', 'none', null],
}

function joined(some: string[] | null, others: string[] | null): string[] | null {
  return some && others ? [...some, ...others] : (some ?? others)
}

/** A client's cap stays under its own name where the target takes neither: the client must hear that. */
function renameCap(chat: Record<string, unknown>, applying: ParameterSupport): boolean {
  const name = nameIn(CAPS, applying)
  if (name === null) return false
  const other = counterpart(name) as Cap
  if (!(other in chat) || !hasRefused(applying, other)) return false
  // The edge reads them so, too: the newer name wins.
  const cap = chat.max_completion_tokens ?? chat.max_tokens
  delete chat[other]
  delete chat[name]
  if (cap != null) chat[name] = cap
  return true
}

function renameRoles(chat: Record<string, unknown>, applying: ParameterSupport): boolean {
  const role = nameIn(SYSTEM_ROLES, applying)
  const refused = role === null ? null : counterpart(role)
  if (refused === null || !hasRefused(applying, refused)) return false
  const messages = messagesOf(chat).filter((message) => message.role === refused)
  for (const message of messages) message.role = role
  return messages.length > 0
}

function hasRefused(applying: ParameterSupport, parameter: Parameter): boolean {
  return applying.some((refusal) => refusal.parameter === parameter)
}

/** The one of a pair that is taken. */
function nameIn<Name extends Parameter>(pair: readonly Name[], applying: ParameterSupport): Name | null {
  return pair.find((name) => !hasRefused(applying, name)) ?? null
}

function messagesOf({ messages }: Record<string, unknown>): Record<string, unknown>[] {
  return objectsOf(messages)
}

/** A request as it was sent. */
export interface Sent {
  kind: string
  /** The client's. */
  body: Buffer
  form: ParameterSupport
  stream: boolean
  /** The router wrote a cap of its own. */
  capped: boolean
  /** The effort and the router's own choices in the request as it was written. */
  effort?: Effort | null
  choices?: readonly OwnOfMessages[]
}

/** The rejections that this request may teach: only of parameters that it carried, in the form in which it was sent. */
export function learnableRejections(sent: Sent): Rejection[] {
  const { carried, refused, effort } = readSent(sent)
  const changes = [...carried, ...(sent.choices ?? [])].filter((parameter) => !refused.has(parameter))
  return changes.flatMap((parameter): Rejection[] => {
    const isKnown = effort !== null && KNOWN_EFFORTS.has(effort)
    if (BY_EFFORT.has(parameter)) return isKnown ? [{ parameter, effort }] : []
    return [{ parameter }]
  })
}

/** True if the request, written in its form, holds nothing that the target is known to refuse. */
export function isAccepted(sent: Sent): boolean {
  const { form, effort, choices = [] } = sent
  const { carried, refused } = readSent(sent)
  if (choices.some((choice) => refuses(form, choice))) return false
  const isRefusedAt = form.some((one) => one.parameter === 'reasoning_effort' && one.effort === effort)
  return !(effort != null && isRefusedAt) && !carried.some((parameter) => refused.has(parameter))
}

interface ReadSent {
  carried: Parameter[]
  refused: Set<Parameter>
  effort: string | null
}

function readSent({ kind, body, form, stream, capped }: Sent): ReadSent {
  if (kind !== 'chat') {
    const carried = kind === 'images' ? OWN_OF_IMAGES.filter((name) => !refuses(form, name)) : []
    return { carried, refused: new Set(), effort: '' }
  }
  const chat = JSON.parse(body.toString('utf8')) as Record<string, unknown>
  fit(chat, form)
  const ownCap = capped ? capName(form) : null
  const roles = new Set(messagesOf(chat).map(({ role }) => role))
  const carried = [
    ...[...DROPPED, ...CAPS].filter((name) => name in chat || name === ownCap),
    ...SYSTEM_ROLES.filter((role) => roles.has(role)),
    ...OWN_OF_CHAT.filter((name) => stream && !refuses(form, name)),
  ]
  const refused = new Set(applyingTo(form, chat).map(({ parameter }) => parameter))
  return { carried, refused, effort: effortOf(chat) }
}

/** Rejections of whole parameters, at every effort. */
export function rejections(...parameters: Parameter[]): ParameterSupport {
  return parameters.map((parameter) => ({ parameter }))
}

/** OpenAI's `dall-e` models know `response_format` alone, its GPT image models `output_format` alone (the types of `openai` 7.55, 2026). */
export function supportOfImages(model: string): ParameterSupport {
  if (/(?:^|\/)(?:gpt-image|chatgpt-image)/i.test(model)) return rejections('response_format')
  return /(?:^|\/)dall-?e/i.test(model) ? rejections('output_format') : []
}
