/**
 * Blocks that come whole with their start, as Anthropic's own API would send them: an empty start, and the content in
 * pieces. Some clients read no content of a start, and a tool then runs with nothing. Vercel's AI SDK 5 to 7 is one
 * (`@ai-sdk/anthropic` 2.0.112 to 4.0.105, read in November 2026).
 */

import { type JsonObject, isObject, parseExactly, wordOf } from '@gateway/contracts/json'
import type { SseEvent } from '@gateway/sse/parse-events'

export class StartSplitter {
  /** Arguments that came with the start of a call, by the index of its block: pieces behind it replace them. */
  #waiting = new Map<unknown, string>()

  /** The events that the client gets instead of this one; null where it stays as it is. */
  split(event: JsonObject, { data, raw }: SseEvent): Buffer | null {
    if (event.type === 'content_block_start') {
      return isObject(event.content_block) && !isBare(event.content_block) ? this.#start(data) : null
    }
    if (this.#waiting.size === 0) return null
    if (event.type === 'content_block_stop') return Buffer.concat([this.#release(event.index), raw])
    const { delta } = event
    if (isObject(delta) && typeof delta.partial_json === 'string' && delta.partial_json !== '')
      this.#waiting.delete(event.index)
    return null
  }

  /** The message ends, and with it the blocks that its server has not ended. */
  flush(): Buffer | null {
    if (this.#waiting.size === 0) return null
    return Buffer.concat([...this.#waiting.keys()].map((index) => this.#release(index)))
  }

  #start(data: string): Buffer {
    const event = parseExactly(data) as JsonObject & { content_block: JsonObject }
    const { index, content_block: block } = event
    switch (block.type) {
      case 'text':
        return written(
          { ...event, content_block: { ...block, text: '' } },
          deltaOf(index, { type: 'text_delta', text: block.text }),
        )
      case 'thinking': {
        const { thinking, signature } = block
        const signed = typeof signature === 'string' && signature !== ''
        return written(
          { ...event, content_block: { ...block, thinking: '', signature: '' } },
          ...(thinking === '' ? [] : [deltaOf(index, { type: 'thinking_delta', thinking })]),
          ...(signed ? [deltaOf(index, { type: 'signature_delta', signature })] : []),
        )
      }
      default:
        this.#waiting.set(index, JSON.stringify(block.input))
        return written({ ...event, content_block: { ...block, input: {} } })
    }
  }

  #release(index: unknown): Buffer {
    const partial_json = this.#waiting.get(index)
    this.#waiting.delete(index)
    return partial_json === undefined
      ? Buffer.alloc(0)
      : written(deltaOf(index, { type: 'input_json_delta', partial_json }))
  }
}

/** True if a start holds no content that belongs into pieces. */
function isBare({ type, text, thinking, signature, input }: JsonObject): boolean {
  if (type === 'text') return !isWord(text)
  if (type === 'thinking') return !isWord(thinking) && !isWord(signature)
  return type !== 'tool_use' || !isObject(input) || Object.keys(input).length === 0
}

function isWord(text: unknown): boolean {
  return typeof text === 'string' && text !== ''
}

function deltaOf(index: unknown, delta: JsonObject): JsonObject {
  return { type: 'content_block_delta', index, delta }
}

function written(...events: JsonObject[]): Buffer {
  return Buffer.from(events.map((event) => `event: ${wordOf(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
}
