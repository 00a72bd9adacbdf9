/** The parts of a request that the stand-in's model reads, and of its reply, in no API's words. */

export type Json = Record<string, unknown>

export interface ModelRequest {
  /** The conversation's texts of all roles in order; the last is the newest. */
  texts: string[]
  /** The names of the offered tools. */
  tools: string[]
  stream: boolean
  /** The request itself wants a compaction, in the API's own way. */
  isCompaction: boolean
}

export interface Reply {
  text?: string
  call?: { name: string; args: Json }
  /** Its text goes on until somebody ends it. */
  endless?: boolean
  /** It waits for the stand-in's `onHold`, once. */
  hold?: boolean
  promptTokens: number
  completionTokens: number
}

export type Model = (request: ModelRequest) => Reply

export interface Wire {
  /** A complaint in words where the API would refuse the request. */
  read(path: string, body: Json): ModelRequest | string
  complete(reply: Reply, body: Json, path: string): Json
  /** `begin`: all before the events that end the response. */
  events(reply: Reply, body: Json): { begin: string[]; end: string[] }
  /** One more piece of an endless text. */
  piece(text: string): string
  refusal(message: string): Json
}

/** A text, or the texts of parts. */
export function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return (content as Json[]).flatMap((part) => {
    if (typeof part.text === 'string') return [part.text]
    return part.content === undefined ? [] : textsOf(part.content)
  })
}

let ids = 0
export function newId(prefix: string): string {
  return `${prefix}${String(++ids).padStart(8, '0')}`
}
