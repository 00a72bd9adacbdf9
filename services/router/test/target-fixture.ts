/**
 * The fixture of a target dialect: the words of backends that speak it. Each dialect has a file in `targets/`, and the tests of
 * all dialects take their samples from there.
 */

import type { Make } from '@gateway/testing/cpu-growth'
import { event } from './http-backend.ts'

export type Json = Record<string, unknown>

export interface TargetFixture {
  /** A response of these contents. */
  say(said: Said): Spoken
  /** `Hello there`, of 9 tokens and 3. */
  written: Written
  /** A stream's prompt is counted before its content. */
  countsPromptFirst: boolean
  /** The event of a piece of text, behind `written.content`. */
  textPiece(text: string): string
  /** The forms in which backends write a call. `object`: its arguments, in JSON. */
  callForms: Record<string, (object: string) => CallForm>
  /** The member that holds a call's arguments in a request. */
  argumentsMember: 'input' | 'arguments'
  /** Each member that the router reads of a response, and of a stream. */
  rich: { response: object; events: object[] }
  /** Responses, and the events of streams, with so many items of a kind. */
  manyInResponse: Record<string, Make>
  manyInStream: Record<string, Make<object[]>>
}

/** The contents of a response. */
export interface Said {
  text?: string
  thoughts?: string
  refusal?: string
  /** The log probabilities of a piece of text, as chat has them. */
  logprobs?: Json
  calls?: { name: string; input: Json }[]
  /** By chat's word. */
  end?: string
}

export interface Spoken {
  plain: Json
  events: Json[]
}

/** In JSON, so that numbers keep their digits. */
export interface CallForm {
  plain: string
  events: string[]
}

export interface Written {
  plain: object
  /** A stream that has begun without content. */
  role: string
  /** Up to its first content. */
  content: string
  complete: string
  /** A failure before content. */
  failed: string
}

interface NamedEvent {
  type: string
  [member: string]: unknown
}

export const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'no' } }

export function named(value: NamedEvent): string {
  return `event: ${value.type}\n${event(value)}`
}

type Part = 'role' | 'content' | 'end' | 'failure'

/** `isNumbered`: each event has its number, as in the Responses API. */
export function writtenBy(plain: object, parts: Record<Part, NamedEvent[]>, isNumbered = false): Written {
  const write = (...names: Part[]) =>
    names
      .flatMap((name) => parts[name])
      .map((one, at) => named(isNumbered ? { ...one, sequence_number: at } : one))
      .join('')
  return {
    plain,
    role: write('role'),
    content: write('role', 'content'),
    complete: write('role', 'content', 'end'),
    failed: write('role', 'failure'),
  }
}
