/**
 * The services of a release, as their images run them. `last-release.ts` makes those of the last release from its commit.
 */

import { foldersNeededBy } from '../deploy/workspace-parts.ts'
import type { ArchivedFile } from './archived-files.ts'
import { compileSources } from './compile-sources.ts'
import { dependenciesOf } from './npm-package.ts'

const SERVICES = ['services/edge', 'services/router', 'services/keys', 'services/metering']

export function servicesPackage(root: string): ArchivedFile[] {
  const folders = foldersNeededBy(root, ...SERVICES)
  const manifest = { type: 'module', dependencies: dependenciesOf(root, folders) }
  return [
    ...compileSources(root, folders),
    { path: 'package.json', content: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) },
  ]
}
