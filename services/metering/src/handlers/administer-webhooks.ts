/**
 * Calls of the administration API on webhooks and dead letters. The edge has had keys authorize the caller, and keys has audited
 * the changes.
 */

import { type Input, type OperationsOf, operations, type Output } from '@gateway/contracts/administration/operations'
import { readInput } from '@gateway/contracts/administration/read-input'
import { GatewayError } from '@gateway/contracts/errors'
import { EMAIL, type WebhookConfig } from '@gateway/contracts/webhooks'
import {
  countDeliveries,
  enableChannel,
  isKnown,
  readDeadLetters,
  readDisabled,
  redeliver,
} from '../db/dead-letters.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import { fingerprintOf } from '../webhooks/fingerprint.ts'

export interface WebhooksInUse {
  current(): readonly WebhookConfig[]
  sendsMail: boolean
}

export const NO_WEBHOOKS: WebhooksInUse = { current: () => [], sendsMail: false }

interface Context {
  database: MeteringDatabase
  webhooks: WebhooksInUse
}

type WebhookOperation = Extract<OperationsOf<'metering'>, `webhooks.${string}`>
type Handlers = { [Name in WebhookOperation]: (context: Context, input: Input<Name>) => Promise<Output<Name>> }

const handlers: Handlers = {
  'webhooks.list': async ({ database, webhooks }) => {
    const [disabled, counts] = [await readDisabled(database), await countDeliveries(database)]
    const channels = webhooks.current().map((webhook) => ({ name: webhook.id, fingerprint: fingerprintOf(webhook) }))
    if (webhooks.sendsMail) channels.push({ name: EMAIL, fingerprint: '' })
    return {
      object: 'list',
      data: channels.map(({ name, fingerprint }) => {
        const off = disabled.find((row) => row.channel === name && row.fingerprint === fingerprint)
        const count = counts.find(({ channel }) => channel === name)
        return {
          id: name,
          object: 'webhook',
          disabled_at: off ? seconds(off.disabledAt) : null,
          waiting: count?.waiting ?? 0,
          oldest_waiting_at: count?.oldest ? seconds(count.oldest) : null,
          dead_letters: count?.dead ?? 0,
        }
      }),
    }
  },

  'webhooks.enable': async ({ database, webhooks }, { webhook: id }) => {
    expectWebhook(webhooks, id)
    await enableChannel(database, id)
    return { id, object: 'webhook.enabled', enabled: true }
  },

  'webhooks.deadLetters': async ({ database }, { after, limit }) => {
    const rows = await readDeadLetters(database, after === undefined ? null : numberOf(after), limit + 1)
    const data = rows.slice(0, limit).map((row) => ({
      id: `${PREFIX}${row.id}`,
      object: 'webhook.dead_letter' as const,
      webhook: row.channel,
      recipient: row.recipient === '' ? null : row.recipient,
      event_id: row.eventId,
      type: row.type,
      attempts: row.attempts,
      fault: row.fault ?? '',
      created_at: seconds(row.createdAt),
      died_at: seconds(row.endedAt),
    }))
    const [first, last] = [data.at(0)?.id ?? null, data.at(-1)?.id ?? null]
    return { object: 'list', data, first_id: first, last_id: last, has_more: rows.length > limit }
  },

  'webhooks.redeliver': async ({ database }, { dead_letter_id: id }) => {
    if (!(await redeliver(database, numberOf(id)))) throw noDeadLetter(id)
    return { id, object: 'webhook.dead_letter', redelivered: true }
  },
}

/** Throws the refusal of the change, and changes nothing. */
export async function checkWebhookChange(
  { database, webhooks }: Context,
  operation: WebhookOperation,
  input: Record<string, unknown>,
): Promise<void> {
  const { webhook, dead_letter_id: letter } = readInput(operations[operation], input)
  if (typeof webhook === 'string') expectWebhook(webhooks, webhook)
  if (typeof letter === 'string' && !(await isKnown(database, numberOf(letter)))) throw noDeadLetter(letter)
}

function expectWebhook(webhooks: WebhooksInUse, id: string): void {
  if (webhooks.current().some((webhook) => webhook.id === id)) return
  throw new GatewayError('NOT_FOUND', `The config has no webhook ${id}`)
}

function noDeadLetter(id: string): GatewayError {
  return new GatewayError('NOT_FOUND', `There is no dead letter ${id}`)
}

const PREFIX = 'dead_'

/** An id of another form is one that nothing has. */
function numberOf(id: string): number {
  const [, digits] = /^dead_([1-9]\d{0,14})$/.exec(id) ?? []
  return Number(digits ?? 0)
}

function seconds(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}

export function isOfWebhooks(operation: string): operation is WebhookOperation {
  return Object.hasOwn(handlers, operation)
}

export function administerWebhooks(
  context: Context,
  operation: WebhookOperation,
  input: Record<string, unknown>,
): Promise<unknown> {
  const handler = handlers[operation] as (context: Context, input: unknown) => Promise<unknown>
  return handler(context, readInput(operations[operation], input))
}
