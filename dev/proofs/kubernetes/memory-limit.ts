/**
 * Lets a pod reach its memory limit: the limit comes down to the memory that it uses, and the kernel kills the process.
 */

import { existsSync, globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { controlGroup } from '../engine/own-world.ts'
import type { Component, Pod, Release } from './release.ts'

/** Version 1 of control groups, or 2. */
const VERSIONS = [
  { root: '/sys/fs/cgroup/memory', usage: 'memory.usage_in_bytes', limit: 'memory.limit_in_bytes' },
  { root: '/sys/fs/cgroup', usage: 'memory.current', limit: 'memory.max' },
] as const
const KILLED_WITHIN_MS = 60_000

/** Resolves when the kernel has killed it for that, and the deployment is whole again. */
export async function exhaustMemory(release: Release, component: Component): Promise<void> {
  const [pod] = await release.pods(component)
  const { root, usage, limit } = VERSIONS.find((version) => existsSync(version.root))!
  const id = pod!.status.containerStatuses[0]!.containerID.replace('containerd://', '')
  const [group] = globSync(join(root, controlGroup(), '**', `pod${pod!.metadata.uid}`, id))
  if (!group) throw new Error(`no control group of ${pod!.metadata.name} is below ${root}${controlGroup()}`)
  const deadlineMs = Date.now() + KILLED_WITHIN_MS
  let lowest = Infinity
  while (!(await wasKilled(release, component, pod!))) {
    if (Date.now() > deadlineMs) throw new Error(`${pod!.metadata.name} outlived its memory limit`)
    if (existsSync(group)) {
      // Never up again. The kernel refuses a limit below the memory that it can free at once: the next round has another
      // figure.
      lowest = Math.min(lowest, Number(await readFile(join(group, usage), 'utf8')))
      await writeFile(join(group, limit), String(lowest)).catch(() => {})
    }
    await delay(250)
  }
  await release.rolledOut()
}

async function wasKilled(release: Release, component: Component, { metadata }: Pod): Promise<boolean> {
  const pod = (await release.pods(component)).find(({ metadata: { uid } }) => uid === metadata.uid)
  return pod?.status.containerStatuses[0]?.lastState.terminated?.reason === 'OOMKilled'
}
