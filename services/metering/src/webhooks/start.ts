/**
 * Webhooks and e-mail: takes events into deliveries, and runs a sender for each webhook of the config and one for e-mail. A changed
 * config takes effect at once. Deliveries to a webhook that it has no more wait until it is back, or until they are forgotten.
 */

import type { Bus } from '@gateway/bus/port'
import type { FollowedConfig } from '@gateway/config/config-source'
import { resolveWebhook } from '@gateway/config/resolve-secrets'
import type { GatewayConfig } from '@gateway/contracts/config'
import { EMAIL, type WebhookConfig } from '@gateway/contracts/webhooks'
import { repeat } from '@gateway/service/repeat'
import type { Logger } from '@gateway/telemetry/logger'
import type { Metrics } from '@gateway/telemetry/metrics'
import { refusedConfigMessage } from '../core/webhook-messages.ts'
import { forgetOldDeliveries, oldestWaitingSeconds } from '../db/deliveries.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import { type SenderContext, startChannelSender } from './channel-sender.ts'
import { ATTEMPT_TIMEOUT_MS, postWebhook } from './post-webhook.ts'
import { rememberChannels } from './configured-channels.ts'
import { digestOf, fingerprintOf } from './fingerprint.ts'
import { openMailer } from './send-mail.ts'
import { watchBackends } from './watch-backends.ts'
import { type EventsContext, makeDeliveries, takeEvents } from './take-events.ts'

/** Each step of SMTP may take an attempt's time, and nobody can end one from outside. */
const MAIL_HELD_FOR_MS = 20 * ATTEMPT_TIMEOUT_MS

export interface WebhookSettings {
  config: Pick<FollowedConfig, 'current' | 'onChange' | 'onRefused'>
  /** Of the `${NAME}`s in webhooks. */
  environment: NodeJS.ProcessEnv
  /** Undefined: no e-mail leaves. */
  smtpUrl?: string | undefined
}

interface WebhookParts extends WebhookSettings {
  bus: Bus
  database: MeteringDatabase
  logger: Logger
  metrics: Metrics
}

export async function startWebhooks(parts: WebhookParts): Promise<AsyncDisposable> {
  const { bus, config, database, logger, metrics, smtpUrl } = parts
  await using starting = new AsyncDisposableStack()
  const context: SenderContext = { database, logger, count: attemptCounter(metrics) }
  if (smtpUrl !== undefined) {
    const mailer = starting.use(openMailer(smtpUrl, ATTEMPT_TIMEOUT_MS))
    const channel = { name: EMAIL, fingerprint: '' }
    starting.use(startChannelSender(context, channel, (mail) => mailer.send(mail), MAIL_HELD_FOR_MS))
  }
  starting.use(followWebhooks(parts, context))
  starting.use(startCleanupJob(parts))
  const webhooks = () => config.current.webhooks ?? []
  const events: EventsContext = { database, logger, webhooks, sendsMail: smtpUrl !== undefined }
  const channels = starting.use(rememberChannels({ ...parts, sendsMail: events.sendsMail }))
  starting.use(await takeEvents(bus, { ...events, channels }))
  starting.use(notifyOfRefusals(config, events))
  starting.use(watchBackends(bus, events))
  const started = starting.move()
  return { [Symbol.asyncDispose]: () => started.disposeAsync() }
}

/** All processes find the same text refused; the event is one for each text. */
function notifyOfRefusals(config: Pick<FollowedConfig, 'onRefused'>, context: EventsContext): Disposable {
  return config.onRefused(({ text, problems }) => {
    const message = refusedConfigMessage({ problems, digest: digestOf(text), at: new Date().toISOString() })
    makeDeliveries(context, { message, mail: null }).catch((error: unknown) =>
      context.logger.warn({ err: error }, 'webhooks could not be notified of the refused configuration'),
    )
  })
}

function attemptCounter(metrics: Metrics): SenderContext['count'] {
  const attempts = metrics.counter(
    'gateway_webhook_attempts_total',
    'attempts of deliveries by `webhook`, `email`: `delivered`, `waiting` (to be tried again), `dead`, `disabled`',
    ['channel', 'outcome'],
  )
  return (channel, outcome) => attempts.labels(channel === EMAIL ? EMAIL : 'webhook', outcome).add()
}

/** One sender for each webhook; a change of a webhook ends its sender and starts another. */
function followWebhooks(
  { config, environment, logger }: Pick<WebhookParts, 'config' | 'environment' | 'logger'>,
  context: SenderContext,
): AsyncDisposable {
  const senders = new Map<string, { fingerprint: string; sender: AsyncDisposable }>()
  const ending = new Set<Promise<void>>()

  function end(id: string): void {
    const ended = Promise.resolve(senders.get(id)!.sender[Symbol.asyncDispose]()).finally(() => ending.delete(ended))
    ending.add(ended)
    senders.delete(id)
  }

  function apply({ webhooks = [] }: GatewayConfig): void {
    const wanted = new Map(webhooks.map((webhook) => [webhook.id, webhook]))
    for (const [id, { fingerprint }] of senders) {
      const webhook = wanted.get(id)
      if (!webhook || fingerprintOf(webhook) !== fingerprint) end(id)
    }
    for (const [id, webhook] of wanted) if (!senders.has(id)) begin(webhook)
  }

  function begin(webhook: WebhookConfig): void {
    const fingerprint = fingerprintOf(webhook)
    try {
      const endpoint = resolveWebhook(webhook, environment)
      const sender = startChannelSender(context, { name: webhook.id, fingerprint }, (delivery, stopping) =>
        postWebhook(endpoint, delivery, { stopping }),
      )
      senders.set(webhook.id, { fingerprint, sender })
    } catch (error) {
      logger.error({ err: error, webhook: webhook.id }, 'a webhook cannot be used; its deliveries wait')
    }
  }

  apply(config.current)
  const following = config.onChange(apply)
  return {
    async [Symbol.asyncDispose]() {
      following[Symbol.dispose]()
      for (const id of senders.keys()) end(id)
      await Promise.all(ending)
    },
  }
}

const ROUND_MS = 15_000
const CLEAN_UP_EVERY_ROUNDS = 40

/** Measures the oldest waiting delivery, and forgets those that ended long ago. */
function startCleanupJob({ config, database, logger, metrics, smtpUrl }: WebhookParts): AsyncDisposable {
  let oldest = 0
  metrics.observedGauge(
    'gateway_webhook_oldest_waiting_seconds',
    'age of the oldest delivery that waits; 0 when none does',
    () => oldest,
  )
  let round = 0
  return repeat(async () => {
    try {
      const channels = [
        ...(config.current.webhooks ?? []).map(({ id }) => id),
        ...(smtpUrl === undefined ? [] : [EMAIL]),
      ]
      oldest = (await oldestWaitingSeconds(database, channels)) ?? 0
      if (round++ % CLEAN_UP_EVERY_ROUNDS === 0) await forgetOldDeliveries(database)
    } catch (error) {
      logger.warn({ err: error }, 'waiting deliveries could not be measured')
    }
    return ROUND_MS
  })
}
