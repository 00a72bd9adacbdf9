/**
 * The services of the last release, from the history of this repository: `tests/skew.test.ts` and `npm run prove compose`
 * run them beside this version. A checkout without that commit cannot have them, and the error says how to fetch it.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeFiles } from './archived-files.ts'
import { unpackCommit } from './git.ts'
import { servicesPackage } from './services-package.ts'

/** Version 0.1.0. Each release moves this on to its own commit. */
const LAST_RELEASE = '0edde1639479059fa4ca57572cd601f58625677f'

/** Writes the services into a folder as the images of that release ran them, without their libraries. */
export async function writeLastRelease(root: string, folder: string): Promise<void> {
  const checkout = await mkdtemp(join(tmpdir(), 'last-release-'))
  try {
    await unpackCommit(root, LAST_RELEASE, checkout, ['packages', 'services']).catch((cause: unknown) => {
      const advice = 'Run the command in a git checkout; in a shallow one, git fetch --unshallow first.'
      throw new Error(`The last release, commit ${LAST_RELEASE}, is not in this history. ${advice}`, { cause })
    })
    await writeFiles(folder, servicesPackage(checkout))
  } finally {
    await rm(checkout, { recursive: true })
  }
}
