/**
 * A backend that plays a model by a script: the turn that follows as many tool results as the request brings. It speaks
 * chat and is strict: a request that the API does not allow is refused with the fault's name.
 */

import type { ServerResponse } from 'node:http'
import { type HttpBackend, sendJson, startHttpBackend } from '../../services/router/test/http-backend.ts'

export interface Turn {
  thought?: string
  text?: string
  calls?: { name: string; args: object }[]
}

export interface ScriptedBackend extends HttpBackend {
  /** Tokens of every response that it gave. */
  reported: { prompt_tokens: number; completion_tokens: number }[]
  script: readonly Turn[]
  /** So many of the next streams break off behind their first content, as those of a backend that is killed. */
  cuts: number
}

type Json = Record<string, unknown>

export async function startScriptedBackend(): Promise<ScriptedBackend> {
  const backend: ScriptedBackend = Object.assign(
    await startHttpBackend((response, { body }) => {
      const fault = faultOf(body)
      if (fault) return sendJson(response, 400, { error: { message: fault, type: 'invalid_request_error' } })
      const results = (body.messages as Json[]).filter(({ role }) => role === 'tool').length
      const turn = backend.script[results]
      if (!turn) return sendJson(response, 400, { error: { message: `no turn follows ${results} results` } })
      // Each turn has other figures, so that a sum identifies its turns.
      const usage = { prompt_tokens: 100 + results * 17, completion_tokens: 10 + results * 3 }
      const total = { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens }
      if (body.stream === true && backend.cuts > 0) {
        backend.cuts--
        return breakOff(response, chunksOf(turn, results, total))
      }
      backend.reported.push(usage)
      if (body.stream !== true) return sendJson(response, 200, completionOf(turn, results, total))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const chunk of chunksOf(turn, results, total)) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
      return response.end('data: [DONE]\n\n')
    }),
    { reported: [], script: [], cuts: 0 },
  )
  return backend
}

/** Behind the role and the first piece. The connection ends in the middle of the body. */
function breakOff(response: ServerResponse, [role, first]: Json[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const begun = [role, first].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
  // Node sends a chunk at the end of the turn, so an end in the same turn would come before it.
  response.write(begun.join(''), () => response.socket?.end())
}

const NAMED = { id: 'chatcmpl-1', created: 1, model: 'scripted' }
const endOf = ({ calls }: Turn) => (calls ? 'tool_calls' : 'stop')
const callsOf = ({ calls = [] }: Turn, results: number) =>
  calls.map(({ name, args }, index) => ({
    id: `call_${results}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))

function completionOf(turn: Turn, results: number, usage: Json): Json {
  const { text = null, thought } = turn
  const calls = callsOf(turn, results)
  const message = {
    role: 'assistant',
    content: text,
    ...(thought === undefined ? {} : { reasoning_content: thought }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
  return { ...NAMED, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: endOf(turn) }], usage }
}

/** Each text in two pieces. */
function chunksOf(turn: Turn, results: number, usage: Json): Json[] {
  const halves = (member: string, text = '') =>
    text === ''
      ? []
      : [text.slice(0, text.length / 2), text.slice(text.length / 2)].map((piece) => ({ [member]: piece }))
  const deltas = [
    { role: 'assistant', content: '' },
    ...halves('reasoning_content', turn.thought),
    ...halves('content', turn.text),
    ...callsOf(turn, results).flatMap(({ function: { name, arguments: args }, ...call }, index) => [
      { tool_calls: [{ index, ...call, function: { name, arguments: '' } }] },
      ...halves('arguments', args).map((piece) => ({ tool_calls: [{ index, function: piece }] })),
    ]),
  ]
  const chunk = (delta: Json, end: string | null = null) => ({
    ...NAMED,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: end }],
  })
  const last = { ...NAMED, object: 'chat.completion.chunk', choices: [], usage }
  return [...deltas.map((delta) => chunk(delta)), chunk({}, endOf(turn)), last]
}

/** The types of `openai` 7.55 (2026) have these; most servers accept `reasoning_content` and `max_tokens` besides. */
const KNOWN = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'reasoning_effort', 'user', 'stop', 'n'],
])
const PARTS: Record<string, readonly string[]> = {
  system: ['text'],
  user: ['text', 'image_url', 'file', 'input_audio'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
}

function faultOf(body: Json): string | null {
  const unknown = Object.keys(body).find((name) => !KNOWN.has(name))
  if (unknown) return `Unrecognized request argument supplied: ${unknown}`
  if (!Array.isArray(body.messages) || body.messages.length === 0) return 'messages must not be empty'
  for (const tool of (body.tools ?? []) as Json[]) {
    const { name } = (tool.function ?? {}) as Json
    if (tool.type !== 'function' || !/^[\w-]{1,64}$/.test(String(name))) return `no function: ${JSON.stringify(tool)}`
  }
  let open = new Set<unknown>()
  for (const message of body.messages as Json[]) {
    const parts = PARTS[String(message.role)]
    if (!parts) return `unknown role ${String(message.role)}`
    if (message.role !== 'tool' && open.size > 0) return `a call has no result before ${JSON.stringify(message)}`
    if (message.role === 'tool' && !open.delete(message.tool_call_id)) return 'a result has no call'
    if (message.tool_calls) open = new Set((message.tool_calls as Json[]).map(({ id }) => id))
    if (message.content === null && message.role === 'assistant') continue
    if (typeof message.content === 'string') continue
    if (!Array.isArray(message.content)) return `no content: ${JSON.stringify(message)}`
    const odd = (message.content as Json[]).find(({ type }) => !parts.includes(String(type)))
    if (odd) return `${String(message.role)} has no part ${String(odd.type)}`
  }
  return open.size > 0 ? 'a call has no result' : null
}
