/**
 * The running gateway that commands speak to: over NATS where `NATS_URL` or the data folder's `cluster.json` names a
 * server, else through the socket that `npm start` opens in the data folder.
 */

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { openNatsBus } from '@gateway/bus/nats'
import { BusTimeoutError, NoResponderError } from '@gateway/bus/port'
import { talks, type AskedBy, type Read, type Written } from '@gateway/contracts/bus-roles'
import { OPERATOR_SOCKET } from '@gateway/service/operator-door'
import { talkAs } from '@gateway/service/talk-as'
import { CommandError } from './command-error.ts'

export interface Gateway extends AsyncDisposable {
  ask<Name extends AskedBy<'ctl'>>(name: Name, question: Written<Name, 'request'>): Promise<Read<Name, 'reply'>>
}

const TIMEOUT_MS = 10_000

export async function findGateway(environment: NodeJS.ProcessEnv): Promise<Gateway> {
  const dataDir = resolve(environment['DATA_DIR'] || './data')
  const natsUrl = environment['NATS_URL'] || (await natsOfCluster(dataDir))
  if (natsUrl) return overNats(natsUrl)
  const socket = join(dataDir, OPERATOR_SOCKET)
  if (existsSync(socket)) return throughSocket(socket)
  throw new CommandError(
    `no gateway runs on ${dataDir}; set DATA_DIR to its data folder, or NATS_URL to its NATS server`,
  )
}

async function natsOfCluster(dataDir: string): Promise<string | undefined> {
  const record = await readFile(join(dataDir, 'cluster.json'), 'utf8').catch(() => undefined)
  return record && (JSON.parse(record) as { servers: { nats: { url: string } } }).servers.nats.url
}

async function overNats(url: string): Promise<Gateway> {
  const opening = openNatsBus({ url, name: 'ctl' })
  const bus = await Promise.race([opening, tooLate()])
  return {
    async ask(name, question) {
      try {
        return await talkAs('ctl', bus).ask(name, question, { timeoutMs: TIMEOUT_MS })
      } catch (error) {
        if (error instanceof NoResponderError || error instanceof BusTimeoutError)
          throw new CommandError(`nobody answers ${talks[name].subject}; a change may hold all the same, so ask again`)
        throw new CommandError(error instanceof Error ? error.message : String(error))
      }
    },
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  }
}

function tooLate(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new CommandError('the NATS server does not answer')), TIMEOUT_MS).unref()
  })
}

function throughSocket(socketPath: string): Gateway {
  return {
    ask: <Name extends AskedBy<'ctl'>>(name: Name, question: Written<Name, 'request'>) =>
      new Promise<Read<Name, 'reply'>>((resolve, reject) => {
        const fail = (error: Error) => reject(new CommandError(`the gateway does not answer: ${error.message}`))
        const { subject, messages } = talks[name]
        const asking = request({ socketPath, path: `/${subject}`, method: 'POST' }, (response) => {
          text(response).then((body) => {
            if (response.statusCode === 200) resolve(messages.reply.parse(JSON.parse(body)) as Read<Name, 'reply'>)
            else reject(new CommandError(body || `the gateway answered ${response.statusCode}`))
          }, fail)
        })
        asking.once('error', fail)
        asking.end(JSON.stringify(question))
      }),
    async [Symbol.asyncDispose]() {},
  }
}
