/**
 * Servers that are taken away for a time: killed, or cut off the network. A cut is in force when the server refuses every
 * connection until it comes back.
 */

import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { docker } from '../engine/engine.ts'
import { NETWORK, type Project } from './project.ts'

const AWAY_MS = 20_000
const PROBE_TIMEOUT_MS = 2_000
const PROBE_EVERY_MS = 1_000

export interface Server {
  service: string
  port: number
}

/** When it was taken away: between these times. */
export interface Cut {
  fromMs: number
  toMs: number
}

export async function kill(project: Project, server: Server): Promise<Cut> {
  const container = project.container(server.service)
  return takeAway(
    project,
    server,
    () => docker('kill', container),
    () => docker('start', container),
  )
}

export async function cutOff(project: Project, server: Server): Promise<Cut> {
  const container = project.container(server.service)
  return takeAway(
    project,
    server,
    () => docker('network', 'disconnect', NETWORK, container),
    () => docker('network', 'connect', '--alias', server.service, NETWORK, container),
  )
}

async function takeAway(
  project: Project,
  { service, port }: Server,
  take: () => Promise<unknown>,
  giveBack: () => Promise<unknown>,
): Promise<Cut> {
  const address = await project.addressOf(service)
  await expectReachable(true, address, port)
  const fromMs = Date.now()
  await take()
  const toMs = Date.now()
  while (Date.now() < toMs + AWAY_MS) {
    await expectReachable(false, address, port)
    await delay(PROBE_EVERY_MS)
  }
  await giveBack()
  await untilHealthy(project.container(service))
  // Its address may be another.
  await expectReachable(true, await project.addressOf(service), port)
  return { fromMs, toMs }
}

async function expectReachable(expected: boolean, address: string, port: number): Promise<void> {
  const socket = connect({ host: address, port })
  try {
    const reached = await once(socket, 'connect', { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).then(
      () => true,
      () => false,
    )
    if (reached !== expected) throw new Error(`${address}:${port} is ${reached ? 'reachable' : 'out of reach'}`)
  } finally {
    socket.destroy()
  }
}

async function untilHealthy(container: string): Promise<void> {
  while ((await docker('inspect', '--format', '{{.State.Health.Status}}', container)) !== 'healthy') await delay(500)
}

/** The NATS server that leads a stream: to lose it is the worst. */
export async function leaderOf({ container }: Project, stream: string): Promise<string> {
  const url = 'http://127.0.0.1:8222/jsz?accounts=true&streams=true'
  const text = await docker('exec', container('nats-1'), 'wget', '--quiet', '--output-document=-', url)
  const { account_details } = JSON.parse(text) as { account_details: { stream_detail?: StreamDetail[] }[] }
  const details = account_details.flatMap(({ stream_detail = [] }) => stream_detail)
  const leader = details.find(({ name }) => name === stream)?.cluster.leader
  if (!leader) throw new Error(`nobody leads ${stream}`)
  return leader
}

interface StreamDetail {
  name: string
  cluster: { leader?: string }
}
