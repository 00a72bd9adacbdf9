/**
 * A small load balancer in front of edges, as a platform has one. It sends new requests to those whose `/readyz` says
 * so, in turn, half of them over connections that it keeps, half over new ones. It repeats nothing: a request that an
 * edge does not serve is lost, and is seen.
 */

import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

export interface BalancedEdge {
  url: string
  healthUrl: string
}

export interface Balancer extends AsyncDisposable {
  readonly url: string
  sendsTo(url: string): boolean
}

const LOOK_EVERY_MS = 500

export async function startBalancer(edges: BalancedEdge[]): Promise<Balancer> {
  const ready = new Set<BalancedEdge>(edges)
  const agents = [new Agent({ keepAlive: true }), new Agent()]
  let turn = 0

  const looking = setInterval(() => {
    for (const edge of edges) {
      void isReady(edge).then((reply) => {
        if (reply === true) ready.add(edge)
        if (reply === false) ready.delete(edge)
      })
    }
  }, LOOK_EVERY_MS)

  const server = createServer((incoming, outgoing) => {
    const [...candidates] = ready
    const edge = candidates[turn++ % candidates.length]
    if (edge) pass(incoming, outgoing, edge.url, agents[(turn >> 1) % agents.length]!)
    else outgoing.writeHead(502).end('no edge is ready')
  })
  server.on('upgrade', (incoming, _stream, head) => {
    const [...candidates] = ready
    const edge = candidates[turn++ % candidates.length]
    if (edge) passUpgrade(incoming, head, edge.url)
    else incoming.socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sendsTo: (url) => [...ready].some((edge) => edge.url === url),
    async [Symbol.asyncDispose]() {
      clearInterval(looking)
      for (const agent of agents) agent.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** `null` where no reply came in time: one late reply says nothing of an edge. */
async function isReady({ healthUrl }: BalancedEdge): Promise<boolean | null> {
  try {
    return (await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(1_000) })).ok
  } catch (error) {
    return (error as Error).name === 'TimeoutError' ? null : false
  }
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, edge: string, agent: Agent): void {
  const { connection: _, host: __, ...headers } = incoming.headers
  const onward = request(`${edge}${incoming.url}`, { agent, method: incoming.method, headers }, (reply) => {
    // These headers belong to one connection, and the balancer's own connections have theirs.
    const { connection: ___, 'keep-alive': ____, ...passedOn } = reply.headers
    outgoing.writeHead(reply.statusCode!, passedOn)
    reply.pipe(outgoing)
    // A response that breaks behind the balancer breaks in front of it.
    reply.once('aborted', () => outgoing.destroy())
  })
  onward.on('error', (error) => {
    if (outgoing.headersSent) outgoing.destroy()
    else outgoing.writeHead(502).end(error.message)
  })
  outgoing.once('close', () => onward.destroy())
  incoming.pipe(onward)
}

/** All bytes of the connection, both ways. */
function passUpgrade({ url, rawHeaders, socket }: IncomingMessage, head: Buffer, edge: string): void {
  const onward = connect(Number(new URL(edge).port), '127.0.0.1')
  const lines = Array.from({ length: rawHeaders.length / 2 }, (_, index) => rawHeaders.slice(2 * index, 2 * index + 2))
  onward.write(`GET ${url} HTTP/1.1\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n`)
  onward.write(head)
  for (const [one, other] of [[socket, onward] as const, [onward, socket] as const]) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
    one.pipe(other)
  }
}
