/**
 * The npm package `model-gateway`: the gateway in one process and the operator's command line, for machines without a
 * checkout.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { foldersNeededBy, readManifest } from '../deploy/workspace-parts.ts'
import { type ArchivedFile, filesBelow } from './archived-files.ts'
import { compileSources } from './compile-sources.ts'

const ENTRIES = ['services/standalone', 'packages/ctl']
/** The edge serves it. */
const BUILT_CONSOLE = 'services/console/dist'
const DOCUMENTS = ['README.md', 'LICENSE', 'NOTICE', 'CHANGELOG.md']

interface RootManifest {
  name: string
  version: string
  description: string
  license: string
  devDependencies: Record<string, string>
}

/** The console is built before. */
export function npmPackage(root: string): ArchivedFile[] {
  const folders = foldersNeededBy(root, ...ENTRIES)
  return [
    ...compileSources(root, folders),
    ...filesBelow(join(root, BUILT_CONSOLE), BUILT_CONSOLE),
    ...DOCUMENTS.map((path) => ({ path, content: readFileSync(join(root, path)) })),
    {
      path: 'bin/model-gateway.mjs',
      content: readFileSync(join(root, 'scripts/release/model-gateway.mjs')),
      isExecutable: true,
    },
    { path: 'package.json', content: Buffer.from(`${JSON.stringify(manifestOf(root, folders), null, 2)}\n`) },
  ]
}

function manifestOf(root: string, folders: readonly string[]): object {
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as RootManifest
  return {
    name: own.name,
    version: own.version,
    description: own.description,
    license: own.license,
    type: 'module',
    bin: { 'model-gateway': 'bin/model-gateway.mjs' },
    engines: { node: '>=18' },
    dependencies: dependenciesOf(root, folders),
    // Where its install script is refused, the launcher takes a Node that is new enough.
    optionalDependencies: {
      ...dependenciesOf(root, folders, 'optionalDependencies'),
      node: own.devDependencies['node'],
    },
  }
}

/** The dependencies of these folders of the workspace, with their versions. */
export function dependenciesOf(
  root: string,
  folders: readonly string[],
  kind: 'dependencies' | 'optionalDependencies' = 'dependencies',
): Record<string, string> {
  return Object.fromEntries(
    folders
      .flatMap((folder) => Object.entries(readManifest(root, folder)[kind] ?? {}))
      .filter(([, version]) => !version.startsWith('workspace:'))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}
