/**
 * Starts `delay-packets.py` on a host. A rule that sends packets to its queue delays them.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import type { Hosts } from './hosts.ts'

const QUEUE = '1'
export const TO_DELAYER = ['-j', 'NFQUEUE', '--queue-num', QUEUE]

/** Ends the delay, once the last delayed packet is gone: for when no rule sends it packets any more. */
export async function startDelayer(hosts: Hosts, host: string, delayMs: number): Promise<() => Promise<void>> {
  const script = join(import.meta.dirname, 'delay-packets.py')
  const [file, ...args] = [...hosts.on(host), 'python3', script, QUEUE, String(delayMs)]
  const delayer = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  dieWithParent(delayer)
  const exited = once(delayer, 'exit')
  const isReady = await Promise.race([once(delayer.stdout, 'data').then(() => true), exited.then(() => false)])
  if (!isReady) throw new Error(`packets of ${host} cannot be delayed`)
  return async () => {
    await sleep(2 * delayMs)
    delayer.kill()
    await exited
  }
}
