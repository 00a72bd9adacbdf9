/**
 * `webhooks …`: deliveries to webhooks and by e-mail, and those that failed for a day.
 */

import type { DeadLetter } from '@gateway/contracts/administration/webhooks'
import type { Output } from '@gateway/contracts/administration/operations'
import { renderTable, type CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'
import { dateOf, readAll } from './pages.ts'

type Webhook = Output<'webhooks.list'>['data'][number]

export async function listWebhooks(gateway: Gateway): Promise<CommandResult> {
  const { data } = await gateway.administer('webhooks.list', {})
  const text = renderTable<Webhook>(
    [
      { title: 'webhook', cell: ({ id }) => id },
      { title: 'disabled', cell: (webhook) => (webhook.disabled_at === null ? 'no' : dateOf(webhook.disabled_at)) },
      { title: 'waiting', cell: ({ waiting }) => waiting },
      { title: 'dead letters', cell: (webhook) => webhook.dead_letters },
    ],
    data,
  )
  return { data, text }
}

export async function enableWebhook(gateway: Gateway, id: string): Promise<CommandResult> {
  const data = await gateway.administer('webhooks.enable', { webhook: id })
  return { data, text: `${id} gets its deliveries again` }
}

export async function listDeadLetters(gateway: Gateway): Promise<CommandResult> {
  const letters: DeadLetter[] = await readAll((after) =>
    gateway.administer('webhooks.deadLetters', { limit: 100, after }),
  )
  const text = renderTable<DeadLetter>(
    [
      { title: 'id', cell: ({ id }) => id },
      { title: 'webhook', cell: ({ webhook, recipient }) => recipient ?? webhook },
      { title: 'event', cell: ({ type }) => type },
      { title: 'died', cell: (letter) => dateOf(letter.died_at) },
      { title: 'fault', cell: ({ fault }) => fault },
    ],
    letters,
  )
  return { data: letters, text }
}

export async function redeliver(gateway: Gateway, id: string): Promise<CommandResult> {
  const data = await gateway.administer('webhooks.redeliver', { dead_letter_id: id })
  return { data, text: `${id} is sent again` }
}
