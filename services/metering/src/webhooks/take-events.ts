/**
 * Takes events off the durable stream and makes deliveries of them, in one transaction. The event is acknowledged after the commit. A
 * repeated event has the same id and changes nothing. It parks nothing: an event that cannot be read is logged and passed over.
 *
 * Events come one at a time in all processes together, so the ids of deliveries have the order of the stream.
 */

import { createHash } from 'node:crypto'
import type { Bus, DurableMessage } from '@gateway/bus/port'
import { accountKeyEvent, spendAlertEvent } from '@gateway/contracts/account-events'
import { accountThreshold } from '@gateway/contracts/quota-status'
import { accountConsumers, consumedAccountStream } from '@gateway/contracts/subjects'
import { EMAIL, type WebhookConfig } from '@gateway/contracts/webhooks'
import { decodeJson } from '@gateway/rpc/json'
import { failpoint } from '@gateway/service/failpoint'
import type { Logger } from '@gateway/telemetry/logger'
import * as z from 'zod'
import {
  keyMessage,
  type Mail,
  spendAlertMail,
  spendAlertMessage,
  thresholdMessage,
  type WebhookMessage,
} from '../core/webhook-messages.ts'
import { insertDeliveries, type NewDelivery } from '../db/deliveries.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import type { ConfiguredChannels } from './configured-channels.ts'
import { writeMail } from './send-mail.ts'

export interface EventsContext {
  database: MeteringDatabase
  logger: Logger
  /** Those of the running config. */
  webhooks(): readonly Pick<WebhookConfig, 'id' | 'events'>[]
  sendsMail: boolean
}

export interface TakenEventsContext extends EventsContext {
  channels: Pick<ConfiguredChannels, 'by'>
}

export function takeEvents(bus: Bus, context: TakenEventsContext): Promise<AsyncDisposable> {
  return bus.durable.consume({
    stream: consumedAccountStream.name,
    subject: 'account.>',
    consumer: accountConsumers.metering,
    maxBatch: 1,
    inOrder: true,
    handler: (batch) => deliverAll(context, batch),
  })
}

async function deliverAll(context: TakenEventsContext, batch: readonly DurableMessage[]): Promise<void> {
  for (const { payload, sequence } of batch) {
    const event = readEvent(payload)
    if (event && !isOfGuest(event.message)) {
      const configured = await context.channels.by(event.message.timestamp)
      const webhooks = () => context.webhooks().filter(({ id }) => configured.has(id))
      await makeDeliveries({ ...context, webhooks, sendsMail: context.sendsMail && configured.has(EMAIL) }, event)
    }
    if (!event) context.logger.error({ sequence }, 'an event of an account cannot be read; nobody is notified of it')
  }
  failpoint('metering.deliveries-made')
}

/** The fields of each kind are its own. */
const anyEvent = z.union([
  accountKeyEvent.transform((event) => ({ message: keyMessage(event), mail: null })),
  spendAlertEvent.transform((event) => ({ message: spendAlertMessage(event), mail: spendAlertMail(event) })),
  accountThreshold.transform((event) => ({ message: thresholdMessage(event), mail: null })),
])

/** Devices without an account come and go by the thousand, and nobody raises their allowance. */
function isOfGuest({ data }: WebhookMessage): boolean {
  return data['account_kind'] === 'guest'
}

function readEvent(payload: Uint8Array): { message: WebhookMessage; mail: Mail | null } | null {
  try {
    return anyEvent.parse(decodeJson(payload))
  } catch {
    return null
  }
}

/** One transaction, as it is one statement. */
export async function makeDeliveries(
  { database, webhooks, sendsMail }: EventsContext,
  { message, mail }: { message: WebhookMessage; mail: Mail | null },
): Promise<void> {
  const { source, type, line, timestamp, data } = message
  const eventId = `msg_${createHash('sha256').update(source).digest('base64url').slice(0, 32)}`
  const payload = JSON.stringify({ type, timestamp, data })
  const posts = webhooks()
    .filter(({ events }) => events.some((event) => event === type))
    .map(({ id: channel }): NewDelivery => ({ channel, recipient: '', eventId, type, line, payload }))
  const recipients = sendsMail ? (mail?.recipients ?? []) : []
  const mails = recipients.map((recipient): NewDelivery => ({
    ...{ channel: EMAIL, recipient, eventId, type, line: `${recipient} ${line}` },
    payload: writeMail(mail!),
  }))
  await insertDeliveries(database, [...posts, ...mails])
}
