/**
 * Writes a chat response in OpenAI's wire format: one JSON body, or the events of a stream.
 */

import type { ChatResponse, ChatUsage, Choice } from './chat.ts'

export interface ChatStamp {
  id: string
  created: number
  model: string
}

/** Where usage appears: nowhere, in a chunk of its own (OpenAI), or together with the finish reason (some servers). */
export type UsagePlace = 'none' | 'own' | 'with_finish'

export interface StreamShape {
  usage: UsagePlace
  finishReason: boolean
  done: boolean
}

/** Length of the pieces in which a tool call's arguments travel. */
const ARGUMENT_PIECE = 12

export function writeChatBody(
  reply: ChatResponse,
  stamp: ChatStamp,
  shape: { usage: boolean; finishReason: boolean },
): string {
  return JSON.stringify({
    id: stamp.id,
    object: 'chat.completion',
    created: stamp.created,
    model: stamp.model,
    choices: reply.choices.map((choice, index) => ({
      index,
      message: writeMessage(choice, stamp, index),
      logprobs: null,
      finish_reason: shape.finishReason ? choice.finishReason : null,
    })),
    ...(shape.usage ? { usage: reply.usage } : {}),
    system_fingerprint: 'fp_simulated',
  })
}

function writeMessage(choice: Choice, stamp: ChatStamp, index: number): object {
  return {
    role: 'assistant',
    content: choice.toolCalls.length > 0 ? null : choice.content.join(''),
    ...(choice.reasoning.length > 0 ? { reasoning_content: choice.reasoning.join('') } : {}),
    ...(choice.toolCalls.length > 0
      ? {
          tool_calls: choice.toolCalls.map((call, at) => ({
            id: toolCallId(stamp, index, at),
            type: 'function',
            function: { name: call.name, arguments: call.arguments },
          })),
        }
      : {}),
  }
}

/** The events in order, each with its blank line. Choices alternate, as they do on a real server. */
export function writeChatEvents(reply: ChatResponse, stamp: ChatStamp, shape: StreamShape): string[] {
  const writer = chunkWriter(stamp, shape.usage === 'own')
  const queues = reply.choices.map((choice, index) => writeDeltas(choice, index, stamp, writer))
  const events: string[] = []
  const longest = Math.max(...queues.map((queue) => queue.length))
  for (let at = 0; at < longest; at++) {
    for (const queue of queues) if (at < queue.length) events.push(queue[at]!)
  }
  if (shape.finishReason) {
    reply.choices.forEach((choice, index) => {
      const isLast = index === reply.choices.length - 1
      const usage = shape.usage === 'with_finish' && isLast ? reply.usage : undefined
      events.push(writer.chunk(index, '{}', `"${choice.finishReason}"`, usage))
    })
  }
  if (shape.usage === 'own') events.push(writer.usage(reply.usage))
  if (shape.done) events.push('data: [DONE]\n\n')
  return events
}

function writeDeltas(choice: Choice, index: number, stamp: ChatStamp, writer: ChunkWriter): string[] {
  const deltas = [writer.chunk(index, `{"role":"assistant","content":${choice.toolCalls.length > 0 ? 'null' : '""'}}`)]
  for (const token of choice.reasoning)
    deltas.push(writer.chunk(index, `{"reasoning_content":${JSON.stringify(token)}}`))
  for (const token of choice.content) deltas.push(writer.chunk(index, `{"content":${JSON.stringify(token)}}`))
  choice.toolCalls.forEach((call, at) => {
    const opening = {
      index: at,
      id: toolCallId(stamp, index, at),
      type: 'function',
      function: { name: call.name, arguments: '' },
    }
    deltas.push(writer.chunk(index, JSON.stringify({ tool_calls: [opening] })))
    for (let from = 0; from < call.arguments.length; from += ARGUMENT_PIECE) {
      const piece = { index: at, function: { arguments: call.arguments.slice(from, from + ARGUMENT_PIECE) } }
      deltas.push(writer.chunk(index, JSON.stringify({ tool_calls: [piece] })))
    }
  })
  return deltas
}

interface ChunkWriter {
  chunk(index: number, delta: string, finishReason?: string, usage?: ChatUsage): string
  usage(usage: ChatUsage): string
}

/** Chunks differ in their delta only, so the rest is written once per response. */
function chunkWriter(stamp: ChatStamp, usageNull: boolean): ChunkWriter {
  const head =
    `data: {"id":"${stamp.id}","object":"chat.completion.chunk","created":${stamp.created},` +
    `"model":${JSON.stringify(stamp.model)},"system_fingerprint":"fp_simulated","choices":[`
  const tail = usageNull ? '}],"usage":null}\n\n' : '}]}\n\n'
  return {
    chunk: (index, delta, finishReason = 'null', usage) =>
      `${head}{"index":${index},"delta":${delta},"logprobs":null,"finish_reason":${finishReason}` +
      (usage ? `}],"usage":${JSON.stringify(usage)}}\n\n` : tail),
    usage: (usage) => `${head}],"usage":${JSON.stringify(usage)}}\n\n`,
  }
}

function toolCallId(stamp: ChatStamp, choice: number, at: number): string {
  return `call_${stamp.id.slice(-12)}${choice}${at}`
}
