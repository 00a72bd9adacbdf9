/**
 * The broker asked in its own words, past the gateway's bus.
 */

import { connect, type NatsConnection } from '@nats-io/transport-node'

const TIMEOUT_MS = 5_000

export interface Broker extends AsyncDisposable {
  readonly connection: NatsConnection
  /** One call of JetStream's interface: `CONSUMER.INFO.USAGE.metering-ledger`. */
  ask<Answer>(call: string, question?: object): Promise<Answer>
}

export async function connectBroker(url: string): Promise<Broker> {
  const servers = url.split(',').map((one) => new URL(one).host)
  const connection = await connect({ servers, timeout: TIMEOUT_MS, maxReconnectAttempts: -1 })
  return {
    connection,
    async ask<Answer>(call: string, question: object = {}) {
      const reply = await connection.request(`$JS.API.${call}`, JSON.stringify(question), { timeout: TIMEOUT_MS })
      const answer = reply.json<Answer & { error?: { description: string } }>()
      if (answer.error) throw new Error(`JetStream: ${call}: ${answer.error.description}`)
      return answer
    },
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

/** One call on a connection of its own. */
export async function requestJetStream<Answer>(url: string, call: string, question: object = {}): Promise<Answer> {
  await using broker = await connectBroker(url)
  return await broker.ask<Answer>(call, question)
}
