/**
 * A server run from a program on this machine: started on a free port, watched, stopped and started again.
 *
 * It never outlives this process (see `die-with-parent`), and its temporary folder neither.
 */

import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { DOES_NOT_END_IT, type Server, type ServerOptions } from './server.ts'

const START_ATTEMPTS = 5

/** One incarnation of the server's process. */
export interface Running {
  readonly pid: number
  readonly exited: Promise<unknown>
  kill(signal: NodeJS.Signals): void
}

export interface LocalServerPlan {
  name: string
  stopSignal: NodeJS.Signals
  /** Ends it at once, when nobody will read its data again. */
  discardSignal: NodeJS.Signals
  url(port: number): string
  /** Starts the process and resolves when it serves. */
  start(place: { directory: string; port: number }): Promise<Running>
}

export async function startLocalServer(plan: LocalServerPlan, options: ServerOptions): Promise<Server> {
  const folder = await openFolder(plan.name, options.directory)
  const first = await startFirst(plan, folder.path, options.port).catch(async (error: unknown) => {
    await folder.close()
    throw error
  })
  const { port } = first
  let running: Running | undefined
  const adopt = (life: Running): void => {
    running = life
    void life.exited.then(() => {
      if (running === life) running = undefined
    })
  }
  adopt(first.running)

  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    const life = running
    if (!life) return
    life.kill(signal)
    if (DOES_NOT_END_IT.includes(signal)) return
    // A stopped process handles no signal but SIGKILL.
    life.kill('SIGCONT')
    await life.exited
  }
  const stop = (): Promise<void> => kill(plan.stopSignal)
  return {
    url: plan.url(port),
    get pid() {
      return running?.pid
    },
    kill,
    stop,
    restart: async () => {
      await stop()
      adopt(await plan.start({ directory: folder.path, port }))
    },
    [Symbol.asyncDispose]: async () => {
      await (folder.temporary ? kill(plan.discardSignal) : stop())
      await folder.close()
    },
  }
}

/** Another process may take a free port before the server does; then it is tried on another. */
async function startFirst(
  plan: LocalServerPlan,
  directory: string,
  fixed?: number,
): Promise<{ port: number; running: Running }> {
  for (let attempt = 1; ; attempt++) {
    const port = fixed ?? (await freePort())
    try {
      return { port, running: await plan.start({ directory, port }) }
    } catch (error) {
      const taken = error instanceof Error && /address already in use|could not bind|in use/i.test(error.message)
      if (!taken || fixed !== undefined || attempt === START_ATTEMPTS) throw error
    }
  }
}

interface Folder {
  path: string
  temporary: boolean
  close(): Promise<void>
}

async function openFolder(name: string, given?: string): Promise<Folder> {
  if (given !== undefined) {
    await mkdir(given, { recursive: true })
    return { path: given, temporary: false, close: async () => {} }
  }
  const path = await mkdtemp(join(await realpath(tmpdir()), `gateway-${name}-`))
  // PostgreSQL may run as another user below it.
  await chmod(path, 0o711)
  const keep = removeWithParent(path)
  return {
    path,
    temporary: true,
    close: async () => {
      await rm(path, { recursive: true, force: true, maxRetries: 5 })
      keep()
    },
  }
}
