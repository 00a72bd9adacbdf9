/**
 * The services of a release, as their images run them. The repository keeps the last release's in `releases/`, so that
 * `tests/skew.test.ts` can run them beside the next version's.
 */

import { foldersNeededBy } from '../deploy/workspace-parts.ts'
import { compileSources } from './compile-sources.ts'
import { dependenciesOf } from './npm-package.ts'
import type { ArchivedFile } from './write-tar.ts'

const SERVICES = ['services/edge', 'services/router', 'services/keys', 'services/metering']

export function servicesPackage(root: string): ArchivedFile[] {
  const folders = foldersNeededBy(root, ...SERVICES)
  const manifest = { type: 'module', dependencies: dependenciesOf(root, folders) }
  return [
    ...compileSources(root, folders),
    { path: 'package.json', content: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) },
  ]
}
