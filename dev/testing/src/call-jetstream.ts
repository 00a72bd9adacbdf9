/**
 * Calls the broker's JetStream API directly, past the gateway's bus.
 */

import { connect, type NatsConnection } from '@nats-io/transport-node'

const TIMEOUT_MS = 5_000

export interface Broker extends AsyncDisposable {
  readonly connection: NatsConnection
  /** One call of JetStream's interface: `CONSUMER.INFO.USAGE.metering-ledger`. */
  call<Reply>(name: string, parameters?: object): Promise<Reply>
}

export async function connectBroker(url: string): Promise<Broker> {
  const servers = url.split(',').map((one) => new URL(one).host)
  const connection = await connect({ servers, timeout: TIMEOUT_MS, maxReconnectAttempts: -1 })
  return {
    connection,
    async call<Reply>(name: string, parameters: object = {}) {
      const reply = await connection.request(`$JS.API.${name}`, JSON.stringify(parameters), { timeout: TIMEOUT_MS })
      const body = reply.json<Reply & { error?: { description: string } }>()
      if (body.error) throw new Error(`JetStream: ${name}: ${body.error.description}`)
      return body
    },
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

/** One call on a connection of its own. */
export async function requestJetStream<Reply>(url: string, name: string, parameters: object = {}): Promise<Reply> {
  await using broker = await connectBroker(url)
  return await broker.call<Reply>(name, parameters)
}
