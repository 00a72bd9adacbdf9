/**
 * The contract's records are whole, whatever a backend leaves out. Each function answers null where nothing is missing,
 * so that the backend's own bytes travel on; else the record with its gaps filled. Nothing that a backend wrote is
 * changed, but for a kind of object that is another one and an empty text in the place of a name.
 */

import type { JobKind } from '@gateway/contracts/job'
import type { JsonObject } from './plain-answer.ts'
import { isObject, readUsage, writeUsage } from './read-usage.ts'

/** What a backend may leave out of its answer, and the router knows. */
export interface Identity {
  id: string
  /** Unix seconds. */
  created: number
  model: string
}

type Completed = JsonObject | null
type Complete = (record: JsonObject, identity: Identity) => Completed

const COMPLETE: Record<JobKind, Complete> = {
  chat: wholeCompletion,
  embeddings: wholeEmbeddings,
  images: wholeImages,
}

export function wholeAnswer(kind: JobKind, answer: JsonObject, identity: Identity): Completed {
  return COMPLETE[kind](answer, identity)
}

function wholeCompletion(answer: JsonObject, identity: Identity): Completed {
  const gaps = { ...named(answer, 'chat.completion', identity), ...usageGap(answer, 'chat') }
  const choices = wholeItems(answer.choices, (choice, position) => ({
    ...indexGap(choice, position),
    ...(choice.finish_reason === undefined ? { finish_reason: finishReasonOf(choice.message) } : null),
    ...messageGap(choice.message),
  }))
  return filled(answer, choices === null ? gaps : { ...gaps, choices })
}

/** On the way of every streamed chunk. */
export function wholeChunk(chunk: JsonObject, identity: Identity): Completed {
  const gaps = named(chunk, 'chat.completion.chunk', identity)
  const choices = Array.isArray(chunk.choices) ? wholeItems(chunk.choices, chunkGaps) : []
  if (choices !== null) gaps.choices = choices
  return filled(chunk, gaps)
}

/** Of a chunk that carries it. */
export function wholeUsage(chunk: JsonObject): Completed {
  const gap = usageGap(chunk, 'chat')
  return gap && { ...chunk, ...gap }
}

function chunkGaps(choice: JsonObject, position: number): JsonObject {
  const gaps = indexGap(choice, position)
  if (!isObject(choice.delta)) gaps.delta = {}
  return gaps
}

function wholeEmbeddings(answer: JsonObject, { model }: Identity): Completed {
  const gaps: JsonObject = { ...usageGap(answer, 'embeddings') }
  if (answer.object !== 'list') gaps.object = 'list'
  if (!isName(answer.model)) gaps.model = model
  const data = wholeItems(answer.data, (entry) => (entry.object === 'embedding' ? {} : { object: 'embedding' }))
  return filled(answer, data === null ? gaps : { ...gaps, data })
}

function wholeImages(answer: JsonObject, { created }: Identity): Completed {
  const gaps: JsonObject = { ...usageGap(answer, 'images') }
  if (!isTime(answer.created)) gaps.created = created
  return filled(answer, gaps)
}

function named(record: JsonObject, object: string, { id, created, model }: Identity): JsonObject {
  const gaps: JsonObject = {}
  if (!isName(record.id)) gaps.id = id
  if (record.object !== object) gaps.object = object
  if (!isTime(record.created)) gaps.created = created
  if (!isName(record.model)) gaps.model = model
  return gaps
}

/** Usage that a backend counted under other names, or without a sum. */
function usageGap({ usage }: JsonObject, kind: JobKind): JsonObject | null {
  if (!isObject(usage)) return null
  const counted = readUsage(usage)
  if (counted === null) return null
  const gaps = Object.entries(writeUsage(counted, kind)).filter(([name]) => typeof usage[name] !== 'number')
  return gaps.length === 0 ? null : { usage: { ...usage, ...Object.fromEntries(gaps) } }
}

function messageGap(message: unknown): JsonObject | null {
  if (!isObject(message)) return null
  const gaps: JsonObject = {}
  if (!isName(message.role)) gaps.role = 'assistant'
  if (message.content === undefined) gaps.content = null
  return isEmpty(gaps) ? null : { message: { ...message, ...gaps } }
}

function finishReasonOf(message: unknown): string {
  return isObject(message) && Array.isArray(message.tool_calls) && message.tool_calls.length > 0 ? 'tool_calls' : 'stop'
}

function indexGap({ index }: JsonObject, position: number): JsonObject {
  return Number.isInteger(index) ? {} : { index: position }
}

/** Null where each item is whole. Another kind of value than a list is for others to judge. */
function wholeItems(items: unknown, gapsOf: (item: JsonObject, position: number) => JsonObject): unknown[] | null {
  if (!Array.isArray(items)) return null
  let isChanged = false
  const whole = items.map((item: unknown, position) => {
    if (!isObject(item)) return item
    const gaps = gapsOf(item, position)
    if (isEmpty(gaps)) return item
    isChanged = true
    return { ...item, ...gaps }
  })
  return isChanged ? whole : null
}

function filled(record: JsonObject, gaps: JsonObject): Completed {
  return isEmpty(gaps) ? null : { ...record, ...gaps }
}

function isEmpty(gaps: JsonObject): boolean {
  for (const _ in gaps) return false
  return true
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/** Azure writes 0 into a chunk that holds nothing but its filters' results. */
function isTime(value: unknown): boolean {
  return typeof value === 'number' && value > 0
}
