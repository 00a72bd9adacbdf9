/**
 * Reads a response off the wire as a strict client does, and notes its content, whole or not.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
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
  const form = FORMS[way]
  let rest = ''
  let text = ''
  let hasDone = false

  function readEvent(event: string): void {
    const data = /^data: (.*)$/m.exec(event)?.[1]
    // A comment that keeps the connection alive.
    if (data === undefined) return
    const isDone = way !== 'messages' && data === '[DONE]'
    // Of the Responses API it stands behind the terminal event.
    if (isDone && !hasDone && seen.done === (way === 'responses')) return void (hasDone = seen.done = true)
    if (seen.done) return void (seen.problem = 'an event after the last one')
    if (isDone) return void (seen.problem = '[DONE] before the end')
    text += form.readEvent(JSON.parse(data), seen)
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

function plainReader(seen: Seen, { expected, way }: Question): ResponseReader {
  let body = ''
  return {
    textLength: 0,
    push(piece) {
      body += piece
    },
    end(isComplete) {
      if (!isComplete) return void (seen.problem ??= 'cut')
      const json: Json = JSON.parse(body)
      seen.complete = true
      if (expected !== null) return noteText(seen, FORMS[way].readPlain(json, seen), expected)
      if (json.usage) seen.usage = usageOf(json.usage)
      seen.text = hasVectors(json) ? 'all' : 'other'
    },
  }
}

// The checker reads the wire as it is: a missing field violates an invariant.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** Both note the outcome of their response, and return the text that they bring. */
interface Form {
  readEvent(event: Json, seen: Seen): string
  readPlain(reply: Json, seen: Seen): string
}

const FORMS: Record<ClientDialect, Form> = {
  chat: {
    readEvent(chunk, seen) {
      if (chunk.error) seen.errorEvent = chunk.error.code ?? 'without a code'
      if (chunk.error) return ''
      noteId(seen, chunk.id)
      const [choice] = chunk.choices
      seen.finishReason = choice?.finish_reason ?? seen.finishReason
      if (chunk.usage) seen.usage = usageOf(chunk.usage)
      return choice?.delta?.content ?? ''
    },
    readPlain(reply, seen) {
      noteId(seen, reply.id)
      const [choice] = reply.choices
      seen.finishReason = choice.finish_reason ?? null
      if (reply.usage) seen.usage = usageOf(reply.usage)
      return choice.message.content ?? ''
    },
  },
  messages: {
    readEvent(event, seen) {
      if (event.type === 'error') seen.errorEvent = event.error.code ?? 'without a code'
      if (event.type === 'message_start') noteId(seen, event.message.id)
      if (event.type === 'message_delta') noteStop(seen, event.delta.stop_reason, event.usage)
      if (event.type === 'message_stop') seen.done = true
      return event.delta?.text ?? ''
    },
    readPlain(reply, seen) {
      noteId(seen, reply.id)
      noteStop(seen, reply.stop_reason, reply.usage)
      return reply.content.map((block: Json) => block.text).join('')
    },
  },
  responses: {
    readEvent({ type, delta, response, code }, seen) {
      if (response) noteName(seen, response.id)
      if (type === 'error') seen.errorEvent = code ?? 'without a code'
      if (type === 'response.failed') seen.errorEvent = response.error.code ?? 'without a code'
      if (type === 'response.completed' || type === 'response.incomplete') {
        seen.done = true
        noteStop(seen, response.status, response.usage)
      }
      return type === 'response.output_text.delta' ? delta : ''
    },
    readPlain(response, seen) {
      noteName(seen, response.id)
      noteStop(seen, response.status, response.usage)
      return response.output.flatMap((item: Json) => item.content.map((part: Json) => part.text)).join('')
    },
  },
}

interface OtherUsage {
  input_tokens: number
  output_tokens: number
}

function noteStop(seen: Seen, reason: string | null, usage: OtherUsage): void {
  seen.finishReason = reason
  seen.usage = { promptTokens: usage.input_tokens, completionTokens: usage.output_tokens }
}

/** The gateway names the response by its request. */
function noteName(seen: Seen, id: string): void {
  if (id !== `resp_${seen.requestId}`) seen.problem ??= `not readable: ${id} is another request's`
}

interface Usage {
  prompt_tokens: number
  completion_tokens?: number
}

const DIMENSIONS = 768

function hasVectors({ data = [] }: { data?: { embedding: number[] }[] }): boolean {
  return data.length > 0 && data.every(({ embedding }) => embedding.length === DIMENSIONS)
}

function noteId(seen: Seen, id: string | undefined): void {
  // The Messages API has a prefix of its own; the rest is the backend's.
  const given = id?.replace(/^msg_/, 'chatcmpl-')
  if (given !== undefined && !seen.responseIds.includes(given)) seen.responseIds.push(given)
}

function noteText(seen: Seen, text: string, expected: string): void {
  seen.textLength = text.length
  seen.words = Math.max(0, text.split(' ').length - (text === expected ? 0 : 1))
  seen.text = text === expected ? 'all' : expected.startsWith(text) ? 'beginning' : 'other'
  if (seen.text === 'other') seen.detail = `instead of the answer: ${text.slice(0, 500)}`
}

function usageOf({ prompt_tokens: promptTokens, completion_tokens: completionTokens = 0 }: Usage) {
  return { promptTokens, completionTokens }
}
