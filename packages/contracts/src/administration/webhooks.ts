/**
 * `/admin/v1/webhooks`: the webhooks of the config with their deliveries, and the dead letters.
 */

import * as z from 'zod'
import { cursor, listOf, nothing, type Operation, unixTime } from './operation.ts'

const webhook = z.object({
  /** As in the config; `email` for the mail server. */
  id: z.string(),
  object: z.literal('webhook'),
  /** It replied 410, and gets nothing until it is enabled or its config changes. */
  disabled_at: unixTime.nullable(),
  waiting: z.int(),
  /** Since when the oldest of them waits. */
  oldest_waiting_at: unixTime.nullable(),
  dead_letters: z.int(),
})

const deadLetter = z.object({
  id: z.string(),
  object: z.literal('webhook.dead_letter'),
  /** The id of the webhook, or `email`. */
  webhook: z.string(),
  /** Of e-mail. */
  recipient: z.string().nullable(),
  /** `webhook-id` of the event. */
  event_id: z.string(),
  type: z.string(),
  attempts: z.int(),
  /** Of the last attempt. */
  fault: z.string(),
  created_at: unixTime,
  died_at: unixTime,
})
export type DeadLetter = z.input<typeof deadLetter>

export const webhookOperations = {
  'webhooks.list': {
    method: 'GET',
    path: '/admin/v1/webhooks',
    service: 'metering',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: z.object({ object: z.literal('list'), data: z.array(webhook) }),
    about: 'lists the webhooks of the config and e-mail, with their waiting and dead deliveries',
  },
  'webhooks.enable': {
    method: 'POST',
    path: '/admin/v1/webhooks/enable',
    service: 'metering',
    access: 'owner',
    query: nothing,
    body: z.strictObject({ webhook: z.string() }),
    namesThing: true,
    output: z.object({ id: z.string(), object: z.literal('webhook.enabled'), enabled: z.literal(true) }),
    about: 'sends to a webhook again that was disabled by a 410; `webhook` is its id',
  },
  'webhooks.deadLetters': {
    method: 'GET',
    path: '/admin/v1/webhooks/dead_letters',
    service: 'metering',
    access: 'reader',
    query: z.strictObject(cursor),
    body: nothing,
    output: listOf(deadLetter),
    about: 'lists deliveries that failed for a day, newest first; they are kept for 35 days',
  },
  'webhooks.redeliver': {
    method: 'POST',
    path: '/admin/v1/webhooks/dead_letters/{dead_letter_id}/redeliver',
    service: 'metering',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: z.object({ id: z.string(), object: z.literal('webhook.dead_letter'), redelivered: z.literal(true) }),
    about: 'sends a dead letter again, under the same `webhook-id`, for another day',
  },
} as const satisfies Record<string, Operation>
