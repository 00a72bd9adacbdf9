/**
 * Reads a response off the wire as a strict client does, and notes its content, whole or not.
 */

import type { ClientFixture, ResponsePart } from '@gateway/testing/client-fixture'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import type { Question } from './question.ts'
import type { Seen } from './seen.ts'

export interface ResponseReader {
  /** Characters of the text that have come so far; of a plain response none before its end. */
  readonly textLength: number
  push(text: string): void
  /** No more will come; `isComplete`: the response ended in good order. */
  end(isComplete: boolean): void
}

export function responseReader(seen: Seen, question: Question): ResponseReader {
  return question.isStream ? streamReader(seen, question) : plainReader(seen, question)
}

function streamReader(seen: Seen, { expected, way }: Question): ResponseReader {
  const client = CLIENTS[way]
  let rest = ''
  let text = ''
  let hasDone = false

  function readEvent(event: string): void {
    const data = /^data: (.*)$/m.exec(event)?.[1]
    // A comment that keeps the connection alive.
    if (data === undefined) return
    const isDone = client.endsWithDone && data === '[DONE]'
    // It stands behind the terminal event where there is one.
    const hasTerminal = client.namedEvents !== undefined
    if (isDone && !hasDone && seen.done === hasTerminal) return void (hasDone = seen.done = true)
    if (seen.done) return void (seen.problem = 'an event after the last one')
    if (isDone) return void (seen.problem = '[DONE] before the end')
    text += note(seen, client, client.readEvent(data))
  }

  return {
    get textLength() {
      return text.length
    },
    push(piece) {
      const events = (rest + piece).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) readEvent(event)
    },
    end(isComplete) {
      noteText(seen, text, expected ?? '')
      seen.complete = isComplete && seen.done
      if (seen.errorEvent !== null) seen.problem ??= 'error event'
      else if (!seen.done) seen.problem ??= 'cut'
    },
  }
}

function plainReader(seen: Seen, { expected, way, onReply = () => {}, noteReply }: Question): ResponseReader {
  let body = ''
  return {
    textLength: 0,
    push(piece) {
      body += piece
    },
    end(isComplete) {
      if (!isComplete) return void (seen.problem ??= 'cut')
      seen.complete = true
      const reply: unknown = JSON.parse(body)
      onReply(reply)
      if (noteReply) return noteReply(seen, reply)
      if (expected === null) return readVectors(seen, reply as Vectors)
      noteText(seen, note(seen, CLIENTS[way], CLIENTS[way].readPlain(reply)), expected)
    },
  }
}

/** Notes all but the text, and returns the text. */
function note(seen: Seen, client: ClientFixture, part: ResponsePart): string {
  if (part.id !== undefined) noteId(seen, client, part.id)
  if (part.errorCode !== undefined) seen.errorEvent = part.errorCode
  if (part.isLast) seen.done = true
  seen.finishReason = part.finishReason ?? seen.finishReason
  seen.usage = part.usage ?? seen.usage
  return part.text
}

function noteId(seen: Seen, { idPrefix, isNamedByRequest = false }: ClientFixture, id: string): void {
  if (isNamedByRequest && id !== idPrefix + seen.requestId) seen.problem ??= `not readable: ${id} is another request's`
  // The backend's log has the ids of chat.
  const given = id.replace(idPrefix, 'chatcmpl-')
  if (!isNamedByRequest && !seen.responseIds.includes(given)) seen.responseIds.push(given)
}

interface Vectors {
  data?: { embedding: number[] }[]
  usage?: { prompt_tokens: number; completion_tokens?: number }
}

const DIMENSIONS = 768

function readVectors(seen: Seen, { data = [], usage }: Vectors): void {
  if (usage) seen.usage = { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens ?? 0 }
  const areComplete = data.length > 0 && data.every(({ embedding }) => embedding.length === DIMENSIONS)
  seen.text = areComplete ? 'all' : 'other'
}

function noteText(seen: Seen, text: string, expected: string): void {
  seen.textLength = text.length
  seen.words = Math.max(0, text.split(' ').length - (text === expected ? 0 : 1))
  seen.text = text === expected ? 'all' : expected.startsWith(text) ? 'beginning' : 'other'
  if (seen.text === 'other') seen.detail = `instead of the answer: ${text.slice(0, 500)}`
}
