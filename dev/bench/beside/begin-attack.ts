/**
 * Begins an attack in a process of its own. It gives way to the neighbour's load generator on their core: otherwise the
 * figures would show how busy the attacker is.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { Attack } from './attacks.ts'

const NICE = 10

export interface RunningAttack extends AsyncDisposable {
  /** The number of responses so far. */
  count(): Promise<number>
  /** Responses by status. */
  stop(): Promise<Record<string, number>>
}

/** The process stays on the cores of this one. */
export async function begin({ name }: Attack, port: number, key: string): Promise<RunningAttack> {
  const child = fork(join(import.meta.dirname, 'attacker.ts'), [name, String(port), key])
  const exited = once(child, 'exit')
  await once(child, 'message')
  setPriority(child.pid!, NICE)
  const request = async <Reply>(message: 'count' | 'stop') => {
    child.send(message)
    const [reply] = await once(child, 'message')
    return reply as Reply
  }
  return {
    count: () => request<number>('count'),
    stop: () => request<Record<string, number>>('stop'),
    async [Symbol.asyncDispose]() {
      child.disconnect()
      await exited
    },
  }
}
