/**
 * Compiles sources for `node_modules`, where Node strips no types. It blanks the types out, so that lines and columns of a stack
 * trace are those of the source. Imports of the workspace become paths within the release.
 */

import { existsSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { isShipped, type PackageManifest, readManifest } from '../deploy/workspace-parts.ts'
import { type ArchivedFile, filesBelow } from './archived-files.ts'

/** A specifier after `from`, `import` or `import(`, and the address of a worker. */
const SPECIFIER = /((?:\bfrom|\bimport|\bimport\(|\bnew URL\()\s*)'(@gateway\/[^']+|\.{1,2}\/[^']+\.ts)'/g

/** Every shipped file of these folders of the workspace, by its path in the release. */
export function compileSources(root: string, folders: readonly string[]): ArchivedFile[] {
  const byName = new Map(folders.map((folder) => [readManifest(root, folder).name, folder]))
  return folders.flatMap((folder) => {
    const { name, version } = readManifest(root, folder)
    // Telemetry names its own version.
    const manifest = { name, version, type: 'module' }
    return [
      { path: `${folder}/package.json`, content: Buffer.from(JSON.stringify(manifest)) },
      ...filesBelow(join(root, folder, 'src'), `${folder}/src`)
        .filter(({ path }) => isShipped(path.slice(folder.length + 1)))
        .map((file) => compile(root, file, byName)),
    ]
  })
}

function compile(root: string, { path, content }: ArchivedFile, byName: Map<string, string>): ArchivedFile {
  if (!path.endsWith('.ts')) return { path, content }
  const code = stripTypeScriptTypes(content.toString()).replace(SPECIFIER, (_, before: string, specifier: string) => {
    const target = specifier.startsWith('.') ? specifier : relativeTo(path, locate(root, specifier, byName))
    return `${before}'${target.replace(/\.ts$/, '.js')}'`
  })
  return { path: path.replace(/\.ts$/, '.js'), content: Buffer.from(code) }
}

/** The file that a package of the workspace shows under a name, such as `@gateway/bus/memory`. */
function locate(root: string, specifier: string, byName: Map<string, string>): string {
  const [scope, name, ...rest] = specifier.split('/')
  const folder = byName.get(`${scope}/${name}`)
  const found = folder && resolveExport(readManifest(root, folder), rest.join('/'))
  if (!found || !existsSync(join(root, folder, found))) throw new Error(`nothing in the release is ${specifier}`)
  return posix.join(folder, found)
}

function resolveExport({ exports = {} }: PackageManifest, subpath: string): string | undefined {
  const exact = exports[`./${subpath}`]
  if (exact) return exact
  const pattern = Object.keys(exports).find((key) => {
    const [before, after] = key.split('*')
    return after !== undefined && `./${subpath}`.startsWith(before!) && `./${subpath}`.endsWith(after)
  })
  if (pattern === undefined) return undefined
  const [before, after = ''] = pattern.split('*')
  return exports[pattern]!.replace('*', subpath.slice(before!.length - 2, subpath.length - after.length))
}

function relativeTo(from: string, to: string): string {
  const path = posix.relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}
