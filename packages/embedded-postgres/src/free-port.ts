/**
 * Free loopback ports, below the range of the system's outgoing connections. So a server that is down for a moment finds its port
 * still free when it comes back.
 */

import { once } from 'node:events'
import { createServer } from 'node:net'

const FIRST = 12_000
const COUNT = 20_000

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if (await isFree(port)) return port
  }
  throw new Error(`found no free port on 127.0.0.1 between ${FIRST} and ${FIRST + COUNT}`)
}

/** That many, each another. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}

export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const probe = createServer()
  try {
    probe.listen(port, host)
    await once(probe, 'listening')
    return true
  } catch {
    return false
  } finally {
    probe.close()
  }
}
