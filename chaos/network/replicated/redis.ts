/**
 * Redis with an asynchronous replica. The run promotes it, as Sentinel would: the gateway sees an address that leads to
 * another server.
 */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '@gateway/embedded-postgres/free-port'
import { findProgram } from '@gateway/servers/find-program'
import { startLocalServer } from '@gateway/servers/local-server'
import { runProgram } from '@gateway/servers/program'
import { commandRedis } from '@gateway/testing/redis-command'
import { SERVER_HOSTS } from '../../plan/places.ts'
import type { Hosts } from '../hosts.ts'
import { programOn } from './program-on.ts'
import type { Replicated } from './replicated.ts'

const LOOK_EVERY_MS = 100

export async function openRedis(hosts: Hosts, folder: string): Promise<Replicated> {
  await using opening = new AsyncDisposableStack()
  const [address = 0, ...ports] = await freePorts(1 + SERVER_HOSTS.redis.length)
  const portOf = (index: number) => ports[index]!
  const command = (index: number, ...words: [string, ...string[]]) =>
    commandRedis(`redis://127.0.0.1:${portOf(index)}`, ...words)
  let primary = 0

  for (const [index, host] of SERVER_HOSTS.redis.entries()) {
    const port = portOf(index)
    await hosts.serve(host, port)
    const directory = join(folder, host)
    await mkdir(directory, { recursive: true })
    const args = [
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--dir',
      directory,
      '--appendonly',
      'yes',
      '--save',
      '',
    ]
    args.push('--repl-diskless-sync-delay', '0')
    const program = programOn(hosts, host, findProgram('redis-server')!, args)
    const serves = (answer: string) => answer.startsWith('+PONG')
    const plan = {
      name: host,
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      url: () => `redis://127.0.0.1:${port}`,
      start: () => runProgram({ ...program, cwd: directory, port, greet: 'PING\r\n', serves }),
    } as const
    opening.use(await startLocalServer(plan, { directory, port }))
  }
  const rejoin = async () => void (await command(1 - primary, 'REPLICAOF', '127.0.0.1', String(portOf(primary))))
  const caughtUp = async (): Promise<void> => {
    while (!String(await command(1 - primary, 'INFO', 'replication')).includes('master_link_status:up'))
      await sleep(LOOK_EVERY_MS)
  }
  const lead = () => hosts.serve(SERVER_HOSTS.redis[primary]!, address, portOf(primary))
  await rejoin()
  await caughtUp()
  await lead()

  const opened = opening.move()
  return {
    url: `redis://127.0.0.1:${address}`,
    primary: async () => SERVER_HOSTS.redis[primary]!,
    async promote() {
      primary = 1 - primary
      await command(primary, 'REPLICAOF', 'NO', 'ONE')
      await lead()
    },
    rejoin,
    caughtUp,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
