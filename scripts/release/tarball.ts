/** Compressed archives that depend on their files alone: the same files give the same bytes everywhere and at any time. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from 'tar'
import { type ArchivedFile, writeFiles } from './archived-files.ts'

/** The files lie below one folder, `top`. `modifiedAt`: of every file, in seconds since 1970. */
export async function makeTarball(top: string, files: readonly ArchivedFile[], modifiedAt: number): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-tarball-'))
  try {
    await writeFiles(join(folder, top), files)
    const paths = files.map(({ path }) => `${top}/${path}`).toSorted()
    const mtime = new Date(modifiedAt * 1000)
    const archive = create({ cwd: folder, portable: true, mtime, gzip: { level: 9, portable: true } }, paths)
    return Buffer.concat(await archive.collect())
  } finally {
    await rm(folder, { recursive: true })
  }
}
