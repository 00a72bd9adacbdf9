/**
 * The services of the last release, from the history of this repository: `tests/skew.test.ts` and `npm run prove compose`
 * run them beside this version. A checkout without that commit cannot have them, and the error says how to fetch it.
 */

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { servicesPackage } from './services-package.ts'
import type { ArchivedFile } from './write-tar.ts'

/** Version 0.1.0. Each release moves this on to its own commit. */
const LAST_RELEASE = '0edde1639479059fa4ca57572cd601f58625677f'

const run = promisify(execFile)

/** Writes the services into a folder as the images of that release ran them, without their libraries. */
export async function writeLastRelease(root: string, folder: string): Promise<void> {
  const checkout = await mkdtemp(join(tmpdir(), 'last-release-'))
  try {
    const archive = join(checkout, 'archive.tar')
    await run('git', ['-C', root, 'archive', '--output', archive, LAST_RELEASE, 'packages', 'services']).catch(
      (cause: unknown) => {
        const advice = 'Run the command in a git checkout; in a shallow one, git fetch --unshallow first.'
        throw new Error(`The last release, commit ${LAST_RELEASE}, is not in this history. ${advice}`, { cause })
      },
    )
    await run('tar', ['-xf', archive, '-C', checkout])
    await writeFiles(folder, servicesPackage(checkout))
  } finally {
    await rm(checkout, { recursive: true })
  }
}

export async function writeFiles(folder: string, files: readonly ArchivedFile[]): Promise<void> {
  for (const { path, content } of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
}
