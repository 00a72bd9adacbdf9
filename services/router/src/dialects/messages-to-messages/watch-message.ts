/**
 * Reads from the events of a Messages stream whether its response is complete, its usage and its text.
 */

import { type JsonObject, isObject, wordOf } from '@gateway/contracts/json'
import { addText, noProgress, recordCall, recordUsage } from '../dialect.ts'
import { faultOf } from './errors.ts'
import { COUNTS, readMessagesUsage } from './response.ts'

export class MessageWatch {
  readonly progress = noProgress()
  /** The fields of `usage` as they came so far: `message_delta` counts on from `message_start`. */
  #counted: JsonObject = {}

  /** True if the event brings content to a client of the Messages API. Throws `BackendFault` when it reports a failure. */
  note(event: JsonObject): boolean {
    switch (event.type) {
      case 'message_start':
        if (isObject(event.message)) this.#count(event.message.usage)
        this.progress.prompt = readMessagesUsage({ ...this.#counted, output_tokens: 0 })
        return false
      case 'content_block_start':
        return this.#readBlock(event.content_block)
      case 'content_block_delta':
        return this.#readDelta(event.delta)
      case 'message_delta':
        this.#count(event.usage)
        this.progress.prompt = readMessagesUsage({ ...this.#counted, output_tokens: 0 })
        // The start reports a figure of the output, too, before there is any.
        if (reportsOutput(event.usage)) recordUsage(this.progress, readMessagesUsage(this.#counted))
        this.progress.complete ||= isObject(event.delta) && event.delta.stop_reason != null
        return this.progress.complete
      case 'message_stop':
        this.progress.done = true
        return false
      case 'error':
        throw faultOf(event)
      default:
        // Pings, ends of blocks, and kinds of events yet to come.
        return false
    }
  }

  /** Blocks of text and of thoughts begin empty; any other one is content. */
  #readBlock(block: unknown): boolean {
    if (!isObject(block)) return false
    if (block.type === 'server_tool_use') recordCall(this.progress, wordOf(block.name))
    if (typeof block.name === 'string') addText(this.progress.text, block.name)
    if (isObject(block.input) && !isEmpty(block.input)) addText(this.progress.text, JSON.stringify(block.input))
    return block.type === 'text' || block.type === 'thinking' ? this.#add(block[block.type]) : true
  }

  /** Thoughts that are not shown have a signature alone. */
  #readDelta(delta: unknown): boolean {
    if (!isObject(delta)) return false
    const pieces = [delta.text, delta.thinking, delta.partial_json].filter((piece) => this.#add(piece))
    return pieces.length > 0 || delta.type === 'signature_delta'
  }

  #add(piece: unknown): boolean {
    if (typeof piece !== 'string' || piece === '') return false
    addText(this.progress.text, piece)
    return true
  }

  #count(usage: unknown): void {
    if (!isObject(usage)) return
    for (const field of COUNTS) {
      // The sums grow, so a zero behind a figure is one that the server has left out. The output's first figure is a guess.
      if (field === 'output_tokens' ? usage[field] != null : reportsCount(usage[field]))
        this.#counted[field] = usage[field]
    }
  }
}

function reportsOutput(usage: unknown): boolean {
  return isObject(usage) && usage.output_tokens != null
}

function reportsCount(value: unknown): boolean {
  return isObject(value) ? Object.values(value).some(reportsCount) : value != null && value !== 0
}

function isEmpty(object: JsonObject): boolean {
  for (const _ in object) return false
  return true
}
