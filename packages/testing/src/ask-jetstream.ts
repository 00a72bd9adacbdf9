/**
 * The broker asked in its own words, past the gateway's bus: what its stream holds.
 */

import { connect, type NatsConnection } from '@nats-io/transport-node'

const TIMEOUT_MS = 5_000

/** One call of JetStream's interface: `CONSUMER.INFO.USAGE.metering-ledger`. */
export async function askJetStream<Answer>(url: string, call: string, question: object = {}): Promise<Answer> {
  const connection = await connect({ servers: url.replace('nats://', ''), timeout: TIMEOUT_MS })
  try {
    return await askOn(connection, call, question)
  } finally {
    await connection.close()
  }
}

async function askOn<Answer>(connection: NatsConnection, call: string, question: object): Promise<Answer> {
  const reply = await connection.request(`$JS.API.${call}`, JSON.stringify(question), { timeout: TIMEOUT_MS })
  const answer = reply.json<Answer & { error?: { description: string } }>()
  if (answer.error) throw new Error(`JetStream: ${call}: ${answer.error.description}`)
  return answer
}
