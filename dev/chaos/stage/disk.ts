/**
 * A disk of its own below a folder, which can be made full. Needs root on Linux; without, there is none, and the fault that
 * wants it is left out.
 */

import { execFile, execFileSync } from 'node:child_process'
import { mkdir, statfs } from 'node:fs/promises'
import { promisify } from 'node:util'

export interface Disk extends AsyncDisposable {
  /** Fills the disk. */
  fill(): Promise<void>
  empty(): Promise<void>
}

/**
 * The broker takes a part of the space that it finds, and a stream reserves 1 GiB of that. Memory is used as it is
 * written only.
 */
const SIZE = '4g'
/** Space that counts as none: less than any report takes. */
const LEFT_BYTES = 8_192

const run = promisify(execFile)

export async function openDisk(folder: string): Promise<Disk | null> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return null
  await mkdir(folder, { recursive: true })
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'chaos', folder]).then(
    () => true,
    () => false,
  )
  if (!isMounted) return null
  const unmount = () => execFileSync('umount', ['-l', folder])
  // Nothing of a run that breaks off stays behind.
  process.once('exit', unmount)
  const resize = (size: string | number) => run('mount', ['-o', `remount,size=${size}`, folder])
  return {
    async fill() {
      const { blocks, bfree, bsize } = await statfs(folder)
      await resize((blocks - bfree) * bsize + LEFT_BYTES)
    },
    empty: async () => void (await resize(SIZE)),
    async [Symbol.asyncDispose]() {
      process.off('exit', unmount)
      unmount()
    },
  }
}
