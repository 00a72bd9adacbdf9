/**
 * The chart's NATS users with passwords, and the broker's reply to each message or subscription of theirs.
 */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { busRoles } from '@gateway/contracts/bus-roles'

const FILE = new URL('../../deploy/chart/files/nats-users.conf', import.meta.url)

export const passwords: Record<string, string> = Object.fromEntries(
  [...busRoles, 'admin', 'sys'].map((name) => [name, `${name}-password`]),
)

/** As the server reads it with the passwords in its environment. */
export const accounts = readFileSync(FILE, 'utf8').replaceAll(/\$NATS_([A-Z]+)_PASSWORD/g, (_, name: string) =>
  JSON.stringify(passwords[name.toLowerCase()]),
)

export type Operation = `PUB ${string}` | `SUB ${string}`

/** Returns the broker's reply to one operation of a user: `+OK`, or an error. */
export async function replyTo(url: string, user: string, operation: Operation): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  try {
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
    const say = async (text: string): Promise<string> => {
      socket.write(text)
      const { value } = await lines.next()
      return value ?? 'closed'
    }
    await once(socket, 'connect')
    await lines.next()
    const login = { user, pass: passwords[user], verbose: true, headers: true, no_responders: true }
    const welcome = await say(`CONNECT ${JSON.stringify(login)}\r\n`)
    if (welcome !== '+OK') throw new Error(`${user} cannot log in: ${welcome}`)
    return await say(operation.startsWith('PUB') ? `${operation} 0\r\n\r\n` : `${operation} 1\r\n`)
  } finally {
    socket.destroy()
  }
}
