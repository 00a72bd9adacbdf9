/**
 * Reads an answer off the wire as a strict client does, and notes what it says, whole or not.
 */

import type { Question } from './question.ts'
import type { Seen } from './seen.ts'

export interface AnswerReader {
  /** Characters of the text that have come so far; of a plain answer none before its end. */
  readonly textLength: number
  push(text: string): void
  /** No more will come; `isWhole`: the response ended in good order. */
  end(isWhole: boolean): void
}

export function answerReader(seen: Seen, question: Question): AnswerReader {
  return question.isStream ? streamReader(seen, question) : plainReader(seen, question)
}

function streamReader(seen: Seen, { answer }: Question): AnswerReader {
  let rest = ''
  let text = ''

  function readEvent(event: string): void {
    const data = event.startsWith('data: ') ? event.slice('data: '.length) : null
    // A comment that keeps the connection alive.
    if (data === null) return
    if (seen.done) return void (seen.problem = 'an event after [DONE]')
    if (data === '[DONE]') return void (seen.done = true)
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error) return void (seen.errorEvent = chunk.error.code ?? 'without a code')
    noteId(seen, chunk.id)
    const [choice] = chunk.choices
    text += choice?.delta?.content ?? ''
    seen.finishReason = choice?.finish_reason ?? seen.finishReason
    if (chunk.usage) seen.usage = usageOf(chunk.usage)
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
    end(isWhole) {
      noteText(seen, text, answer ?? '')
      seen.whole = isWhole && seen.done
      if (seen.errorEvent !== null) seen.problem ??= 'error event'
      else if (!seen.done) seen.problem ??= 'cut'
    },
  }
}

function plainReader(seen: Seen, { answer }: Question): AnswerReader {
  let body = ''
  return {
    textLength: 0,
    push(piece) {
      body += piece
    },
    end(isWhole) {
      if (!isWhole) return void (seen.problem ??= 'cut')
      const json = JSON.parse(body) as PlainAnswer
      seen.whole = true
      if (json.usage) seen.usage = usageOf(json.usage)
      if (answer === null) return void (seen.text = hasVectors(json) ? 'all' : 'other')
      noteId(seen, json.id)
      seen.finishReason = json.choices?.[0]?.finish_reason ?? null
      noteText(seen, json.choices?.[0]?.message?.content ?? '', answer)
    },
  }
}

interface Usage {
  prompt_tokens: number
  completion_tokens?: number
}

interface Chunk {
  id: string
  choices: { delta?: { content?: string | null }; finish_reason?: string | null }[]
  usage?: Usage | null
  error?: { code?: string }
}

interface PlainAnswer {
  id?: string
  choices?: { message?: { content?: string | null }; finish_reason?: string }[]
  data?: { embedding: number[] }[]
  usage?: Usage
}

const DIMENSIONS = 768

function hasVectors({ data = [] }: PlainAnswer): boolean {
  return data.length > 0 && data.every(({ embedding }) => embedding.length === DIMENSIONS)
}

function noteId(seen: Seen, id: string | undefined): void {
  if (id !== undefined && !seen.answerIds.includes(id)) seen.answerIds.push(id)
}

function noteText(seen: Seen, text: string, answer: string): void {
  seen.textLength = text.length
  seen.words = Math.max(0, text.split(' ').length - (text === answer ? 0 : 1))
  seen.text = text === answer ? 'all' : answer.startsWith(text) ? 'beginning' : 'other'
  if (seen.text === 'other') seen.detail = `instead of the answer: ${text.slice(0, 500)}`
}

function usageOf({ prompt_tokens: promptTokens, completion_tokens: completionTokens = 0 }: Usage) {
  return { promptTokens, completionTokens }
}
