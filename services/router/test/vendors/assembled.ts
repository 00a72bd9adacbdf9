/**
 * A response of the gateway as a client of OpenAI's API puts it together, held to the contract's records on the way.
 */

import { chatChunk, chatCompletion } from '@gateway/contracts/answers'
import { expect } from 'vitest'

export interface AssembledCall {
  id: string
  name: string
  arguments: object
}

export interface Assembled {
  text: string
  reasoning: string
  calls: AssembledCall[]
  finishReason: string | null
  usage: Record<string, unknown> | undefined
}

interface Piece {
  index?: number
  id?: string | null
  type?: string | null
  function: { name?: string | null; arguments?: string }
}
interface Part {
  content?: string | null
  reasoning?: string | null
  reasoning_content?: string | null
  tool_calls?: Piece[] | null
}
interface Received {
  created: number
  choices: { index: number; finish_reason?: string | null; message?: Part; delta?: Part }[]
  usage?: Record<string, unknown> | null
}

export function assembledPlain(text: string): Assembled {
  const reply = chatCompletion.parse(JSON.parse(text)) as unknown as Received
  return assembled([reply])
}

export function assembledStream(text: string): Assembled {
  const events = text.split('\n\n').filter((event) => event !== '')
  const chunks = events.map((event) => {
    expect(event.startsWith('data: ')).toBe(true)
    return chatChunk.parse(JSON.parse(event.slice('data: '.length))) as unknown as Received
  })
  const counted = chunks.filter(({ usage }) => usage != null)
  expect(counted.map(({ choices }) => choices)).toEqual(counted.map(() => []))
  expect(counted.length).toBeLessThanOrEqual(1)
  return assembled(chunks)
}

/** The first choice. */
function assembled(records: Received[]): Assembled {
  const calls: { id: string; name: string; text: string }[] = []
  const complete: Assembled = { text: '', reasoning: '', calls: [], finishReason: null, usage: undefined }
  for (const { created, choices, usage } of records) {
    expect(created).toEqual(expect.any(Number))
    if (usage) complete.usage = usage
    for (const { index, finish_reason: reason, message, delta } of choices) {
      expect(index).toBe(0)
      const part = message ?? delta!
      complete.text += part.content ?? ''
      complete.reasoning += part.reasoning ?? part.reasoning_content ?? ''
      complete.finishReason ??= reason ?? null
      for (const [position, piece] of (part.tool_calls ?? []).entries()) {
        const call = (calls[message ? position : piece.index!] ??= begun(piece))
        call.text += piece.function.arguments ?? ''
      }
    }
  }
  complete.calls = Object.values(calls).map(({ id, name, text }) => ({
    id,
    name,
    arguments: JSON.parse(text) as object,
  }))
  expect(new Set(complete.calls.map(({ id }) => id)).size).toBe(complete.calls.length)
  return complete
}

function begun({ id, type, function: called }: Piece) {
  expect(id).toEqual(expect.stringMatching(/./))
  expect(type).toBe('function')
  return { id: id!, name: called.name!, text: '' }
}
