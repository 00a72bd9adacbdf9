/**
 * A disk of a host's own: a file system in a file, on a device that the kernel can slow. Its journal waits too, and so do
 * writes that the kernel puts off. No rule for a server's group of processes would reach those.
 *
 * The mount goes with this run's mounts. A shell holds the rule, and takes it back when its input ends: with this process.
 */

import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ServerHost } from '../../plan/places.ts'

export interface HostDisk extends AsyncDisposable {
  readonly folder: string
  /** Resolves when it is proven to be slow. Null where this kernel cannot do it. */
  slow(writesPerSecond: number): Promise<SlowDisk | null>
}

export type Disks = Readonly<Record<ServerHost, HostDisk>>

export interface SlowDisk {
  end(): Promise<void>
  /** The durations of some durable writes, before and since. */
  note: string
}

/** Files take space as they are written. NATS reserves 1 GiB for a stream. */
const SIZE = '4G'
const RULES = '/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device'
const HOLD_RULE = 'echo "$2 $3" > "$1" && echo slow && read -r _; echo "$2 0" > "$1"'
const PROBES = 5

const run = promisify(execFile)

export async function openHostDisk(folder: string): Promise<HostDisk> {
  const file = `${folder}.disk`
  await mkdir(folder)
  await run('truncate', ['--size', SIZE, file])
  await run('mkfs.ext4', ['-q', file])
  await run('mount', ['-o', 'loop,noinit_itable', file, folder])
  await chmod(folder, 0o711)
  return {
    folder,
    async slow(writesPerSecond) {
      if (!existsSync(RULES)) return null
      const beforeMs = await timeWrites(folder)
      const end = await holdRule(folder, writesPerSecond)
      const sinceMs = await timeWrites(folder)
      // The kernel lets some pass at once.
      if (sinceMs < (PROBES * 1_000) / writesPerSecond / 2)
        throw new Error(`the disk at ${folder} is not slow: ${PROBES} writes took ${sinceMs.toFixed(0)} ms`)
      return { end, note: `${PROBES} durable writes took ${beforeMs.toFixed(0)} ms, then ${sinceMs.toFixed(0)} ms` }
    },
    async [Symbol.asyncDispose]() {
      execFileSync('umount', ['-l', folder])
    },
  }
}

async function holdRule(folder: string, writesPerSecond: number): Promise<SlowDisk['end']> {
  const { dev } = await stat(folder)
  const device = `${dev >> 8}:${dev & 0xff}`
  const args = ['-c', HOLD_RULE, 'sh', RULES, device, String(writesPerSecond)]
  const shell = spawn('sh', args, { detached: true, stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(shell, 'exit')
  const isSlow = await Promise.race([once(shell.stdout, 'data').then(() => true), exited.then(() => false)])
  if (!isSlow) throw new Error(`the kernel took no rule for device ${device} in ${RULES}`)
  return async () => {
    shell.stdin.end()
    await exited
  }
}

async function timeWrites(folder: string): Promise<number> {
  await using file = await open(join(folder, 'probe'), 'w')
  const beganAtMs = performance.now()
  for (let count = 0; count < PROBES; count++) {
    await file.write('written')
    await file.sync()
  }
  return performance.now() - beganAtMs
}
