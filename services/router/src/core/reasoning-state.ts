/**
 * The state of a model's reasoning: signatures, encrypted thoughts. Its target wants it back as it was, at its place in the turn. Clients
 * of another dialect keep it sealed (`state-seal.ts`), and nothing of it stays here.
 *
 * A target's reading hands each piece on in a member of chat's own, `STATE`. The client's side seals it. On the way back the pieces of
 * each turn come beside the request, never in it. A target of another kind gets none of them.
 */

import { type JsonObject, objectsOf } from '@gateway/contracts/json'
import type { TargetDialect } from '@gateway/contracts/vendors'
import { isStateToken, type StateSeal } from './state-seal.ts'

/** `signatures`: Google's `extra_content` of calls and messages. `details`: OpenRouter's `reasoning_details` of messages. */
export type ChatStateForm = 'signatures' | 'details'

/** A piece of a turn's state, with its place: the characters of text and the number of calls before it. */
export interface StatePiece {
  kind: string
  /** The vendor's own value. */
  value: unknown
  text: number
  calls: number
}
export type TurnStates = readonly (readonly StatePiece[] | undefined)[]

/** A piece in a whole message of chat; the thoughts before it are those of the pieces before it and its own. */
export interface PlacedValue {
  value: unknown
  thoughts: number
  text: number
  calls: number
}

/** The member of chat's messages and deltas. A message has `PlacedValue`s, a delta the values alone, behind its thoughts. */
export const STATE = 'svc_state'

/** The seal for one account, and the kind of the target's state. Without one of them there is no state. */
export interface StateOfTarget {
  states?: StateSeal
  stateKind?: string | undefined
}

/** Their signatures hold on all three platforms. */
const OF_CLAUDE = new Set<string | null>(['anthropic', 'bedrock', 'vertex'])

interface Maker {
  dialect: TargetDialect
  vendor: string | null
  backend: string
  model: string
}

/**
 * Another model may refuse the state of a first one (platform.claude.com/docs/en/build-with-claude/preserved-thinking, read in November
 * 2026). OpenAI's is bound to the organisation (pydantic/pydantic-ai#4608, 2026-03-09), and so may be that of a server without a name.
 */
export function kindOfState({ dialect, vendor, backend, model }: Maker): string {
  if (dialect === 'chat') return `${vendor} ${model}`
  if (dialect === 'messages' && OF_CLAUDE.has(vendor)) return `claude ${model}`
  return `${dialect} ${backend} ${model}`
}

/** True if the readings of the target are to hand its state on. */
export function keepsState({ states, stateKind }: StateOfTarget): boolean {
  return states !== undefined && stateKind !== undefined
}

/**
 * The beginning of tokens in bodies that the router does not parse. A scan for a rare letter costs a fiftieth of one for a quote: 0.3 µs
 * for 32 kB.
 */
const RARE = '~'
export const MARK = `${RARE}svc`
export const MARKED_TOKEN = Buffer.from(MARK)

/** The token's content. A token in the id of a call holds that id, too. */
interface Sealed {
  id?: unknown
  pieces: [kind: string, value: unknown, text?: number, calls?: number][]
}

/** Null where it cannot be sealed. */
export function sealValue({ states, stateKind }: StateOfTarget, value: unknown): string | null {
  const sealed: Sealed = { pieces: [[stateKind!, value]] }
  return states?.seal('reasoning', JSON.stringify(sealed)) ?? null
}

/** The same for a client whose own target gets its requests unparsed. */
export function sealMarked(target: StateOfTarget, value: unknown): string | null {
  const token = sealValue(target, value)
  return token === null ? null : RARE + token
}

/** The token stands in the place of the call's id, and holds it. */
export function sealInId(
  { states }: Pick<StateOfTarget, 'states'>,
  id: unknown,
  pieces: readonly StatePiece[],
): string | null {
  const sealed: Sealed = { id, pieces: pieces.map(({ kind, value, text, calls }) => [kind, value, text, calls]) }
  const token = states?.seal('reasoning', JSON.stringify(sealed)) ?? null
  return token === null ? null : RARE + token
}

export interface OpenedState {
  id: unknown
  pieces: StatePiece[]
}

/**
 * Null where the value is a vendor's own. A token without its secret has no pieces. `place`: where the token stands in its turn, for those
 * that do not say it.
 */
export function openState(
  states: StateSeal | undefined,
  given: unknown,
  member: string,
  place: Pick<StatePiece, 'text' | 'calls'> = { text: 0, calls: 0 },
): OpenedState | null {
  const token = typeof given === 'string' && given.startsWith(RARE) ? given.slice(RARE.length) : given
  if (!isStateToken(token)) return null
  const plaintext = states?.open('reasoning', token, member) ?? ''
  if (plaintext === '') return { id: undefined, pieces: [] }
  const { id, pieces } = JSON.parse(plaintext) as Sealed
  return {
    id,
    pieces: pieces.map(([kind, value, text = place.text, calls = place.calls]) => ({ kind, value, text, calls })),
  }
}

/** A part of a turn's text, which a piece of state may stand in. */
export interface TextPart<Item> {
  text: string
  write(text: string): Item
}

/** The parts of a turn in the order in which its target made them: texts, then calls, and each value at its place. */
export function inTurn<Item>(
  texts: readonly TextPart<Item>[],
  calls: readonly Item[],
  pieces: readonly { value: Item; text: number; calls: number }[],
): Item[] {
  const items: Item[] = []
  let next = 0
  const takeWhile = (isDue: (piece: { text: number; calls: number }) => boolean) => {
    while (next < pieces.length && isDue(pieces[next]!)) items.push(pieces[next++]!.value)
  }
  let at = 0
  for (const { text, write } of texts) {
    let begin = 0
    takeWhile((piece) => piece.calls === 0 && piece.text <= at)
    for (let piece = pieces[next]; piece?.calls === 0 && piece.text < at + text.length; piece = pieces[next]) {
      const end = piece.text - at
      items.push(write(text.slice(begin, end)))
      begin = end
      takeWhile((due) => due.calls === 0 && due.text <= at + end)
    }
    items.push(write(begin === 0 ? text : text.slice(begin)))
    at += text.length
  }
  calls.forEach((call, position) => {
    takeWhile((piece) => piece.calls <= position)
    items.push(call)
  })
  takeWhile(() => true)
  return items
}

/**
 * A whole message as the deltas of a stream, so that the client's side reads both alike. One delta where the message holds no state.
 */
export function deltasOf(message: JsonObject): JsonObject[] {
  const placed = message[STATE] as PlacedValue[] | undefined
  if (placed === undefined) return [message]
  const { [STATE]: _, reasoning_content: reasoning, content, tool_calls: given, refusal, ...rest } = message
  const [thoughts, text] = [textIn(reasoning), textIn(content)]
  const calls = objectsOf(given)
  const at = { thoughts: 0, text: 0, calls: 0 }
  const deltas: JsonObject[] = [rest]
  const addUntil = (next: Omit<PlacedValue, 'value'>) => {
    if (next.text > at.text) deltas.push({ content: text.slice(at.text, next.text) })
    for (const call of calls.slice(at.calls, next.calls)) deltas.push({ tool_calls: [{ ...call, index: at.calls++ }] })
    at.text = Math.max(at.text, next.text)
  }
  for (const { value, ...next } of placed) {
    addUntil(next)
    const own = thoughts.slice(at.thoughts, next.thoughts)
    at.thoughts = Math.max(at.thoughts, next.thoughts)
    deltas.push({ ...(own === '' ? {} : { reasoning_content: own }), [STATE]: [value] })
  }
  if (at.thoughts < thoughts.length) deltas.push({ reasoning_content: thoughts.slice(at.thoughts) })
  addUntil({ thoughts: 0, text: text.length, calls: 0 })
  if (refusal != null) deltas.push({ refusal })
  addUntil({ thoughts: 0, text: text.length, calls: calls.length })
  return deltas
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The values of a delta. */
export function stateIn(delta: JsonObject): readonly unknown[] {
  const values = delta[STATE]
  return Array.isArray(values) ? values : []
}

/** Leaves out the state of targets of another kind. The state that stays holds the thoughts, so its message has no others. */
export function withOwnStates(messages: readonly JsonObject[], stateKind: string | undefined): readonly JsonObject[] {
  if (!messages.some((message) => message[STATE] !== undefined)) return messages
  return messages.map((message) => {
    if (message[STATE] === undefined) return message
    const { [STATE]: states, ...rest } = message
    const own = (states as StatePiece[]).filter(({ kind }) => kind === stateKind)
    if (own.length === 0) return rest
    const { reasoning_content: _, ...others } = rest
    return { ...others, [STATE]: own }
  })
}

/** Takes the state out of messages: their target reads it beside them. */
export function splitStates(messages: readonly JsonObject[]): {
  messages: readonly JsonObject[]
  turnStates: TurnStates | undefined
} {
  if (!messages.some((message) => message[STATE] !== undefined)) return { messages, turnStates: undefined }
  return {
    turnStates: messages.map((message) => message[STATE] as StatePiece[] | undefined),
    messages: messages.map((message) => {
      const { [STATE]: _, ...rest } = message
      return rest
    }),
  }
}

/** One state out of those of turns that a target reads as one. Thousands of turns may add to it. */
export function joinedStates(turn: JsonObject, next: JsonObject): JsonObject | undefined {
  const [before, after] = [turn[STATE], next[STATE]] as (StatePiece[] | undefined)[]
  if (before === undefined && after === undefined) return undefined
  const text = textIn(turn.content).length
  const states = before ?? []
  for (const piece of after ?? []) states.push({ ...piece, text: piece.text + text })
  return { [STATE]: states }
}
