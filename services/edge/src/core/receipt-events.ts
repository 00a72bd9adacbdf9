/**
 * The event of a stream that carries its receipt.
 *
 * Nothing of the event changes except that it gets one more member.
 */

import { isObject } from '@gateway/contracts/json'
import { RECEIPT_MEMBER } from '@gateway/contracts/receipts'

const USAGE = Buffer.from('"usage"')

/** The counts of the whole response, by any of the APIs. */
export function bearsUsage(event: Buffer): boolean {
  if (!event.includes(USAGE)) return false
  const data = dataOf(event)
  return (
    data !== null && (isObject(data['usage']) || (isObject(data['response']) && isObject(data['response']['usage'])))
  )
}

type Data = Record<string, unknown>

/** Null where the event has no JSON object on one line. */
export function dataOf(event: Buffer): Data | null {
  const lines = event
    .toString()
    .split(/\r\n|\r|\n/)
    .filter((line) => line.startsWith('data:'))
  if (lines.length !== 1) return null
  try {
    const data: unknown = JSON.parse(lines[0]!.slice('data:'.length))
    return isObject(data) ? data : null
  } catch {
    return null
  }
}

/** `event`: one with data. */
export function withReceipt(event: Buffer, receipt: string): Buffer {
  const end = event.lastIndexOf('}')
  const member = Buffer.from(`,"${RECEIPT_MEMBER}":${JSON.stringify(receipt)}`)
  return Buffer.concat([event.subarray(0, end), member, event.subarray(end)])
}

/** Of chat, where the client wants no usage: a chunk without choices, as the one with the usage is. */
export function chunkWithReceipt(lastChunk: Data, receipt: string): Buffer {
  const { id, created, model } = lastChunk
  const chunk = { id, object: 'chat.completion.chunk', created, model, choices: [], [RECEIPT_MEMBER]: receipt }
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
}
