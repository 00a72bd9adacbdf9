/**
 * The repository's source files as a graph: each file with its owner and its imports.
 */

import { posix } from 'node:path'
import { readImports } from './read-imports.ts'

export interface Manifest {
  name: string
  /** Its exports: `./port` and its file. `./*` stands for every file. */
  exports?: Record<string, string>
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

/** A folder with a package.json; the repository's own is ''. */
export interface Owner {
  folder: string
  kind: 'service' | 'package' | 'root'
  manifest: Manifest
}

export interface ResolvedImport {
  specifier: string
  typeOnly: boolean
  /** The imported file of this repository, or null for Node's modules and packages from npm. */
  target: string | null
}

export interface SourceFile {
  path: string
  owner: Owner
  /** Runs in tests alone: a test, a file beside tests, or one that only such files import. */
  testOnly: boolean
  source: string
  imports: ResolvedImport[]
}

export interface SourceTree {
  owners: Owner[]
  files: ReadonlyMap<string, SourceFile>
}

/** `texts`: every package.json and source file, by its path from the repository's root. */
export function readTree(texts: ReadonlyMap<string, string>): SourceTree {
  const owners = [...texts]
    .filter(([path]) => posix.basename(path) === 'package.json')
    .map(([path, text]) => ownerOf(posix.dirname(path), JSON.parse(text) as Manifest))
  const files = new Map<string, SourceFile>()
  for (const [path, source] of texts) {
    if (posix.basename(path) === 'package.json') continue
    const owner = owners
      .filter(({ folder }) => folder === '' || path.startsWith(`${folder}/`))
      .reduce((nearest, candidate) => (candidate.folder.length > nearest.folder.length ? candidate : nearest))
    const imports = readImports(source).map((item) => ({ ...item, target: resolve(path, item.specifier, owners) }))
    files.set(path, {
      path,
      owner,
      source,
      imports,
      testOnly: /\.test\.ts$|\/test\//.test(path) || owner.kind === 'root',
    })
  }
  markTestOnly(files)
  return { owners, files }
}

function ownerOf(directory: string, manifest: Manifest): Owner {
  const folder = directory === '.' ? '' : directory
  const kind = folder.startsWith('services/') ? 'service' : folder === '' ? 'root' : 'package'
  return { folder, kind, manifest }
}

/** Follows the packages' `exports`; past them, the file's place. */
function resolve(from: string, specifier: string, owners: Owner[]): string | null {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier)
  const owner = owners.find(({ manifest }) => specifier.startsWith(`${manifest.name}/`))
  if (!owner) return null
  const entry = exportOf(specifier, owner)
  return posix.join(owner.folder, owner.manifest.exports?.[entry] ?? `src/${entry}.ts`)
}

/** `@gateway/bus/port` is the export `./port`. */
export function exportOf(specifier: string, { manifest }: Owner): string {
  return `.${specifier.slice(manifest.name.length)}`
}

function markTestOnly(files: ReadonlyMap<string, SourceFile>): void {
  const importers = new Map<string, SourceFile[]>()
  for (const file of files.values()) {
    for (const { target } of file.imports) {
      if (target !== null) importers.set(target, [...(importers.get(target) ?? []), file])
    }
  }
  for (let changed = true; changed;) {
    changed = false
    for (const file of files.values()) {
      const users = importers.get(file.path) ?? []
      // Users in other packages do not count: a file that their tests import is part of this package's interface.
      if (file.testOnly || users.length === 0 || !users.every((user) => user.testOnly && user.owner === file.owner))
        continue
      file.testOnly = changed = true
    }
  }
}
