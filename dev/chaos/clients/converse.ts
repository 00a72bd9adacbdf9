/**
 * Clients that send several requests, each of which continues the one before. A client over HTTP brings all items along, to
 * one edge and the other in turn. A client of a WebSocket names the response before. A conversation ends with its first failure.
 */

import type { PlannedRequest } from '../plan/requests.ts'
import { capFor, questionOf, textFor, type Question } from './question.ts'
import type { Seen } from './seen.ts'
import { openSocket, requestOverSocket } from './request-over-socket.ts'

const TURNS = 3
/** Of the model whose thoughts come back to it. */
const THINKING_TOKENS = 400

export interface Turn extends PlannedRequest {
  /** The requests of the conversation before. */
  follows: readonly string[]
}

export interface Conversing {
  edgeUrls: readonly string[]
  keyOf(owner: string): string
  /** Over HTTP. */
  send(turn: Turn, question: Question): Promise<Seen>
  /** Notes the request before and after. */
  logged(turn: Turn, key: string, perform: (seen: Seen) => Promise<void>): Promise<Seen>
}

export function converse(with_: Conversing, request: PlannedRequest): Promise<void> {
  switch (request.kind) {
    case 'socket':
      return overSocket(with_, request)
    case 'compact':
      return compact(with_, request)
    default:
      return thinkAlong(with_, request)
  }
}

function turnOf(request: PlannedRequest, number: number): Turn {
  const idAt = (at: number) => (at === 1 ? request.id : `${request.id}.${at}`)
  const follows = Array.from({ length: number - 1 }, (_, at) => idAt(at + 1))
  const edge = (request.edge + number) % 2 === 0 ? 1 : 0
  return { ...request, id: idAt(number), edge, follows }
}

/** Without it, two texts of the user would become one, and the backend would not see the word `Say`. */
const NOTED = { role: 'assistant', content: 'Noted.' }
const capOf = ({ words, model }: Turn) => capFor(words) + (model === 'signed' ? THINKING_TOKENS : 0)

/** A turn's new item. */
const said = ({ id, words }: Turn) => ({ role: 'user', content: `Say: ${textFor(id, words)}` })

/** Each request has to bring the model's earlier thoughts back to it. */
async function thinkAlong({ send }: Conversing, request: PlannedRequest): Promise<void> {
  const input: object[] = []
  for (let number = 1; number <= TURNS; number++) {
    const turn = turnOf(request, number)
    input.push(said(turn))
    const seen = await send(turn, {
      ...questionOf({ ...turn, kind: 'plain' }),
      body: {
        ...{ model: turn.model, input, max_output_tokens: capOf(turn) },
        ...{ reasoning: { effort: 'low' }, include: ['reasoning.encrypted_content'] },
      },
      onReply: (reply) => void input.push(...outputOf(reply)),
    })
    if (!seen.complete) return
  }
}

/** The next request has to bring the summary to a model, of another kind for some. */
async function compact({ send }: Conversing, request: PlannedRequest): Promise<void> {
  const turn = turnOf(request, 1)
  const output: object[] = []
  const seen = await send(turn, {
    ...{ path: '/v1/responses/compact', way: 'responses', isStream: false, expected: '' },
    body: { model: turn.model, input: [{ role: 'user', content: `This is about ${turn.id}` }] },
    onReply: (reply) => void output.push(...outputOf(reply)),
    noteReply: noteCompaction,
  })
  if (!seen.complete) return
  const next = turnOf({ ...request, model: request.chosen % 2 === 0 ? request.model : 'signed' }, 2)
  await send(next, {
    ...questionOf({ ...next, kind: 'plain' }),
    body: { model: next.model, input: [...output, NOTED, said(next)], max_output_tokens: capOf(next) },
  })
}

function outputOf(reply: unknown): object[] {
  return (reply as { output: object[] }).output
}

interface Compaction {
  object: string
  output: { type: string; encrypted_content?: string }[]
  usage: { input_tokens: number; output_tokens: number }
}

function noteCompaction(seen: Seen, reply: unknown): void {
  const { object, output, usage } = reply as Compaction
  const [item, ...others] = output.filter(({ type }) => type === 'compaction')
  const isOne = object === 'response.compaction' && others.length === 0 && item?.encrypted_content !== undefined
  seen.text = isOne ? 'all' : 'other'
  if (!isOne) seen.detail = `instead of a compaction: ${JSON.stringify(reply).slice(0, 500)}`
  seen.finishReason = 'stop'
  seen.usage = { promptTokens: usage.input_tokens, completionTokens: usage.output_tokens }
}

async function overSocket(conversing: Conversing, request: PlannedRequest): Promise<void> {
  const key = conversing.keyOf(request.owner)
  await using opened = await openSocket(conversing.edgeUrls[request.edge]!, key)
  let previous: string | null = null
  for (let number = 1; number <= TURNS; number++) {
    // An edge that stops closes a connection on which nothing runs.
    if (number > 1 && !opened.isOpen) return
    const turn = { ...turnOf(request, number), edge: request.edge }
    const question = questionOf({ ...turn, kind: 'stream' })
    const body = { ...question.body, input: [said(turn)], previous_response_id: previous, stream: undefined }
    const seen = await conversing.logged(turn, key, async (noted) => {
      previous = await requestOverSocket(opened, { ...question, body }, noted)
    })
    if (!seen.complete) return
  }
}
