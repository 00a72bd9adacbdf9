/**
 * Remembers when each webhook, and e-mail, was first configured. A channel gets the events from then on, also those that waited while
 * metering was away. It gets no event from before, though the stream keeps a month of them.
 */

import type { FollowedConfig } from '@gateway/config/config-source'
import { EMAIL } from '@gateway/contracts/webhooks'
import type { Logger } from '@gateway/telemetry/logger'
import { channelsConfiguredBy, noteChannels } from '../db/channels.ts'
import type { MeteringDatabase } from '../db/tables.ts'

export interface ConfiguredChannels extends Disposable {
  /** The channels that were configured when an event happened. Rejects while the database is away. */
  by(eventTime: string): Promise<ReadonlySet<string>>
}

interface ChannelParts {
  config: Pick<FollowedConfig, 'current' | 'onChange'>
  database: MeteringDatabase
  logger: Logger
  sendsMail: boolean
}

export function rememberChannels({ config, database, logger, sendsMail }: ChannelParts): ConfiguredChannels {
  const known = new Set<string>()
  /** With the time when this process first had them. */
  const unnoted = new Map<string, Date>()

  async function note(): Promise<void> {
    const noting = new Map(unnoted)
    if (noting.size === 0) return
    await noteChannels(database, noting)
    for (const channel of noting.keys()) unnoted.delete(channel)
  }

  function apply(): void {
    const configured = (config.current.webhooks ?? []).map(({ id }) => id)
    for (const channel of [...configured, ...(sendsMail ? [EMAIL] : [])]) {
      if (known.has(channel)) continue
      known.add(channel)
      unnoted.set(channel, new Date())
    }
    // The next event notes them otherwise.
    note().catch((error: unknown) => logger.warn({ err: error }, 'new webhooks could not be noted; they will be'))
  }

  apply()
  const following = config.onChange(apply)
  return {
    async by(eventTime) {
      await note()
      return channelsConfiguredBy(database, eventTime)
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  }
}
