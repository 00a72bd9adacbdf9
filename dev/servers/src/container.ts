/**
 * A server in a container, for machines that have an engine (Docker, Podman, …) and not the program itself.
 *
 * The engine's reaper removes the container when this process is gone.
 */

import { resolve } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import type { ContainerRuntimeClient } from 'testcontainers'
import { DOES_NOT_END_IT, type Server, type ServerOptions } from './server.ts'

export interface ContainerPlan {
  image: string
  /** Inside the container. */
  port: number
  dataDirectory: string
  command: string[]
  /** A line of its log that says that it serves. */
  readyLine: RegExp
  files?: { content: string; target: string }[]
  url(hostAndPort: string): string
}

/** Checks that a container engine responds. */
export async function hasContainerEngine(): Promise<boolean> {
  return (await openEngine()) !== undefined
}

// Loaded only when needed: it takes longer to load than a server to start.
async function openEngine(): Promise<ContainerRuntimeClient | undefined> {
  const { getContainerRuntimeClient } = await import('testcontainers')
  return getContainerRuntimeClient().catch(() => undefined)
}

/** Starts it, or returns undefined (and says why on stderr) when no engine responds or it does not have the image. */
export async function startInContainer(plan: ContainerPlan, options: ServerOptions): Promise<Server | undefined> {
  const engine = await openEngine()
  if (!engine) return undefined
  const { GenericContainer, Wait } = await import('testcontainers')
  const definition = new GenericContainer(plan.image)
    .withCommand(plan.command)
    .withCopyContentToContainer(plan.files ?? [])
    .withExposedPorts({ container: plan.port, host: options.port ?? (await freePort()) })
    .withWaitStrategy(Wait.forLogMessage(plan.readyLine))
    .withAutoRemove(false)
  if (options.directory) {
    definition.withBindMounts([{ source: resolve(options.directory), target: plan.dataDirectory }])
  }
  process.stderr.write(`starting ${plan.image} in a container\n`)
  const started = await definition.start().catch((error: Error) => {
    process.stderr.write(`${plan.image} did not start in a container: ${error.message}\n`)
  })
  if (!started) return undefined

  const container = engine.container.getById(started.getId())
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    const { State } = await container.inspect()
    if (!State.Running) return
    await container.kill({ signal })
    if (!DOES_NOT_END_IT.includes(signal)) await container.wait()
  }
  const stop = (): Promise<void> => kill('SIGTERM')
  return {
    url: plan.url(`${started.getHost()}:${started.getMappedPort(plan.port)}`),
    pid: undefined,
    kill,
    stop,
    restart: async () => {
      await stop()
      await started.restart({ timeout: 0 })
    },
    [Symbol.asyncDispose]: async () => {
      await started.stop({ timeout: 0, remove: true, removeVolumes: true })
    },
  }
}
