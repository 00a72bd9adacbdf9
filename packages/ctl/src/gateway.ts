/**
 * Connects commands to the running gateway. An address leads to it over HTTP, and `NATS_URL` over NATS. Without both, the socket of
 * `npm start` in the data folder counts, if it listens. Otherwise it takes the NATS of the folder's `cluster.json`. Both files outlive
 * a gateway that was killed.
 */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { openNatsBus } from '@gateway/bus/nats'
import { BusTimeoutError, NoResponderError } from '@gateway/bus/port'
import type { AdministerReply } from '@gateway/contracts/administration/envelope'
import { type OperationName, operations, type Output } from '@gateway/contracts/administration/operations'
import { procedures, type RequestedBy, type Read, type Written } from '@gateway/contracts/bus-roles'
import { isTooLong, OPERATOR_SOCKET } from '@gateway/rpc/admin-socket'
import { rpcClient } from '@gateway/rpc/client'
import { UsageError } from '@gateway/service/report-fatal'
import { type Administer, administerOverHttp } from './over-http.ts'
import { requestOverHttp } from './same-calls.ts'

export interface Gateway extends AsyncDisposable {
  administer: Administer
  /** A request on the bus; over HTTP, the call that does the same. */
  request<Name extends RequestedBy<'ctl'>>(name: Name, payload: Written<Name, 'request'>): Promise<Read<Name, 'reply'>>
}

const TIMEOUT_MS = 10_000
/** The gateway itself gives a request up after 10 s, and says so. */
const HUNG_AFTER_MS = 15_000

export interface HttpAccess {
  /** Of the gateway, with or without `/v1`. */
  url?: string | undefined
  adminKey?: string | undefined
}

export async function findGateway(environment: NodeJS.ProcessEnv, { url, adminKey }: HttpAccess): Promise<Gateway> {
  if (url !== undefined) {
    const administer = administerOverHttp(url, adminKey)
    return { administer, request: requestOverHttp(administer), [Symbol.asyncDispose]: async () => {} }
  }
  const gateway = await openGateway(environment)
  return {
    administer: administerOverBus(gateway),
    async request(name, payload) {
      const { error } = procedures[name].messages.request.safeParse(payload)
      if (error)
        throw new UsageError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'))
      return gateway.request(name, { ...payload, ...callerIn(procedures[name].messages.request.shape) })
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  }
}

/** For the audit log, as far as the request has a member for it. */
function callerIn(shape: object) {
  return {
    ...('origin' in shape && { origin: originOf() }),
    ...('by' in shape && { by: { credential: { kind: 'operator' as const }, origin: originOf() } }),
  }
}

function originOf() {
  return { requestId: randomUUID(), address: null, userAgent: 'ctl' }
}

/** As the operator, who may do everything: the bus is open to nobody else. */
function administerOverBus(gateway: BusAccess): Administer {
  return async (operation, input) => {
    const { service, method } = operations[operation]
    const call = { credential: { kind: 'operator' as const }, origin: originOf() }
    if (service !== 'metering')
      return outputOf(operation, await gateway.request('keysAdminister', { operation, input, ...call }))
    if (method !== 'GET') {
      const authorize = { for: operation, audited: input }
      acceptedOf(
        await gateway.request('keysAdminister', { operation: 'administrators.authorize', input: authorize, ...call }),
      )
    }
    return outputOf(operation, await gateway.request('meteringAdminister', { operation, input }))
  }
}

function outputOf<Name extends OperationName>(operation: Name, reply: AdministerReply): Output<Name> {
  return operations[operation].output.parse(acceptedOf(reply)) as Output<Name>
}

function acceptedOf(reply: AdministerReply): unknown {
  if (reply.kind === 'refused') throw new UsageError(reply.message)
  return reply.output
}

type BusAccess = Omit<Gateway, 'administer'>

async function openGateway(environment: NodeJS.ProcessEnv): Promise<BusAccess> {
  const dataDir = resolve(environment['DATA_DIR'] || './data')
  if (environment['NATS_URL']) return overNats(environment['NATS_URL'])
  const socket = join(dataDir, OPERATOR_SOCKET)
  if (await isListening(socket)) return throughSocket(socket)
  const natsUrl = await natsOfCluster(join(dataDir, 'cluster.json'))
  if (natsUrl !== undefined) return overNats(natsUrl)
  if (isTooLong(socket)) throw new UsageError(`${socket} is too long for a socket: shorten the path of DATA_DIR`)
  throw new UsageError(`no gateway runs on ${dataDir}; set DATA_DIR to its data folder, or NATS_URL to its NATS server`)
}

async function isListening(socketPath: string): Promise<boolean> {
  const trying = connect(socketPath)
  try {
    await once(trying, 'connect')
    return true
  } catch {
    return false
  } finally {
    trying.destroy()
  }
}

async function natsOfCluster(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const url = parseJson(text)?.servers?.nats?.url
  if (typeof url === 'string') return url
  throw new UsageError(`${path} names no NATS server: set NATS_URL, or start the cluster again`)
}

function parseJson(text: string): { servers?: { nats?: { url?: unknown } } } | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function overNats(url: string): Promise<BusAccess> {
  const bus = await Promise.race([openNatsBus({ url, name: 'ctl' }), tooLate()]).catch((error: Error) => {
    throw new UsageError(`the NATS server cannot be used: ${error.message}`)
  })
  return {
    async request(name, payload) {
      try {
        return await rpcClient('ctl', bus).request(name, payload, { timeoutMs: TIMEOUT_MS })
      } catch (error) {
        if (error instanceof NoResponderError || error instanceof BusTimeoutError)
          throw new UsageError(
            `no service responds to ${procedures[name].subject}; a change may hold all the same, so run the command again`,
          )
        throw new UsageError(error instanceof Error ? error.message : String(error))
      }
    },
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  }
}

function tooLate(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error('it does not respond')), TIMEOUT_MS).unref()
  })
}

function throughSocket(socketPath: string): BusAccess {
  const lost = `the gateway on ${dirname(socketPath)} does not respond`
  const hung = `${lost} within ${HUNG_AFTER_MS / 1_000} s; a change may hold all the same. If it stays so, restart the gateway and run the command again`
  return {
    request: <Name extends RequestedBy<'ctl'>>(name: Name, payload: Written<Name, 'request'>) =>
      new Promise<Read<Name, 'reply'>>((resolve, reject) => {
        const tooLate = AbortSignal.timeout(HUNG_AFTER_MS)
        const fail = (error: Error) => reject(new UsageError(tooLate.aborted ? hung : `${lost}: ${error.message}`))
        const { subject, messages } = procedures[name]
        const read = (status: number | undefined, body: string) => {
          if (status === 200) resolve(messages.reply.parse(JSON.parse(body)) as Read<Name, 'reply'>)
          else reject(new UsageError(body || `the gateway responded with status ${status}`))
        }
        const sent = request({ socketPath, path: `/${subject}`, method: 'POST', signal: tooLate }, (response) => {
          text(response)
            .then((body) => read(response.statusCode, body))
            .catch(fail)
        })
        sent.once('error', fail)
        sent.end(JSON.stringify(payload))
      }),
    async [Symbol.asyncDispose]() {},
  }
}
