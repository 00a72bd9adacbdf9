/**
 * Clients of the gateway, and the ledger held against the responses that they got.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { type Address, type Caller, newDeveloper, quotaOf, send } from '../../../tests/promises/gateway.ts'
import { type LoadOptions, type Outcome, startLoad } from '../../../tests/promises/load.ts'
import { proveLedger } from '../engine/ledger.ts'
import { expectNoFailure } from '../engine/outcomes.ts'
import type { Addresses } from './cluster.ts'

/** Half of them streams, at any time. An edge that is late takes eight at once at least: two edges refuse none of these. */
const CLIENTS = 16
const RESPONSES_AROUND = 30

export interface Clients {
  readonly key: string
  /** All that they were ever given. */
  readonly outcomes: readonly Outcome[]
  /** Sends requests before, while and after; then the ledger must be exact. */
  during(disruption: () => Promise<unknown>): Promise<readonly Outcome[]>
  openStreams(url: string, options: Omit<LoadOptions, 'model'>): Streams
}

export interface Streams extends AsyncDisposable {
  /** When the last has come to its end and is in the ledger. */
  end(): Promise<readonly Outcome[]>
}

/** Signs in, gets a key, chats, streams, and reads the quota. */
export async function openClients({ gateway, issuer }: Addresses, databaseUrl: string): Promise<Clients> {
  const address: Address = { urls: [gateway], issuer }
  const developer = await newDeveloper(address)
  await useOnce(developer, address, databaseUrl)
  const all: Outcome[] = []
  return {
    key: developer.key,
    outcomes: all,
    async during(disruption) {
      const load = startLoad(address, [developer.key], { model: 'chat', clients: CLIENTS })
      try {
        await served(load.outcomes, RESPONSES_AROUND)
        await disruption()
        await served(load.outcomes, load.outcomes.length + RESPONSES_AROUND)
      } finally {
        await load.stop()
        all.push(...load.outcomes)
      }
      await proveLedger(databaseUrl, load.outcomes)
      return load.outcomes
    },
    openStreams(url, options) {
      const load = startLoad({ urls: [url] }, [developer.key], { model: 'chat', ...options })
      let ended: Promise<readonly Outcome[]> | undefined
      const end = async () => {
        await load.stop()
        all.push(...load.outcomes)
        await proveLedger(databaseUrl, load.outcomes)
        return load.outcomes
      }
      const endOnce = () => (ended ??= end())
      return { end: endOnce, [Symbol.asyncDispose]: async () => void (await endOnce()) }
    },
  }
}

async function useOnce(caller: Caller, address: Address, databaseUrl: string): Promise<void> {
  const [url] = address.urls
  const body = { model: 'chat', messages: [{ role: 'user', content: '20 words' }] }
  const response = await send(url, '/v1/chat/completions', { key: caller.key, body })
  if (response.status !== 200) throw new Error(`chat: ${response.status} ${JSON.stringify(response.body)}`)
  const load = startLoad(address, [caller.key], { model: 'chat', clients: 1, streamsOfWords: 20 })
  await served(load.outcomes, 1)
  await load.stop()
  expectNoFailure(load.outcomes)
  await proveLedger(databaseUrl, load.outcomes)
  const { total_tokens: plain } = response.body['usage'] as { total_tokens: number }
  const expected = plain + load.outcomes.reduce((sum, { tokens }) => sum + tokens, 0)
  const { used } = await quotaOf(caller, url)
  if (used !== expected) throw new Error(`the quota reports ${used} used tokens, the responses ${expected}`)
}

async function served(outcomes: readonly Outcome[], count: number): Promise<void> {
  while (outcomes.length < count) await delay(50)
}
