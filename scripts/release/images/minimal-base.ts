/**
 * The smallest base that Node runs on, made of this machine: the project's own Node, the libraries that it names, an
 * unprivileged user and the authorities of Debian's package. No shell, no package manager. Scanners find the packages in
 * `var/lib/dpkg/status.d`, as in distroless images.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, globSync, lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ArchivedEntry, ArchivedFile } from '../write-tar.ts'
import { readLinks } from './read-elf.ts'

/** Where loaders look without a cache: Debian's first. */
const LIBRARY_FOLDERS = ['/lib/x86_64-linux-gnu', '/lib/aarch64-linux-gnu', '/lib64', '/lib', '/usr/lib64', '/usr/lib']
/** The package's own: the machine's bundle may hold authorities of its owner. */
const AUTHORITIES = '/usr/share/ca-certificates/mozilla/*.crt'
/** Engines mount these; a read-only container cannot make them. */
const EMPTY_FOLDERS = ['dev', 'home/node', 'proc', 'sys']

export interface DebianPackage {
  name: string
  version: string
  architecture: string
  /** As dpkg describes it. */
  status: string
}

export interface MinimalBase {
  entries: ArchivedEntry[]
  packages: DebianPackage[]
}

/** Its packages must be known. */
export const canMakeBase = existsSync('/usr/bin/dpkg-query')

export function minimalBase(node: string): MinimalBase {
  const libraries = librariesOf(node)
  const authorities = globSync(AUTHORITIES).toSorted()
  const packages = packagesOf([...libraries, ...authorities.slice(0, 1)])
  return {
    packages,
    entries: [
      { path: 'usr/local/bin/node', content: readFileSync(node), isExecutable: true },
      ...libraries.map((path) => ({ path: placeOf(path), content: readFileSync(path), isExecutable: true })),
      ...mergedFolders(),
      ...EMPTY_FOLDERS.map((path) => ({ path, folderMode: 0o755 })),
      { path: 'tmp', folderMode: 0o1777 },
      ...users(),
      text('etc/nsswitch.conf', 'hosts: files dns\n'),
      text('etc/hosts', '127.0.0.1 localhost\n::1 localhost\n'),
      ...copied('/etc/os-release'),
      text('etc/ssl/certs/ca-certificates.crt', authorities.map((path) => readFileSync(path, 'utf8')).join('')),
      ...packages.flatMap(describePackage),
    ],
  }
}

/** The loader and every library that a program needs, where this machine has them. */
function librariesOf(program: string): string[] {
  const paths = new Set<string>()
  const pending = [program]
  for (const path of pending) {
    const { interpreter, libraries } = readLinks(readFileSync(path))
    for (const found of [...(interpreter ? [interpreter] : []), ...libraries.map(findLibrary)]) {
      const named = [...paths].some((known) => realpathSync(known) === realpathSync(found))
      if (named) continue
      paths.add(found)
      pending.push(found)
    }
  }
  return [...paths]
}

function findLibrary(name: string): string {
  const found = LIBRARY_FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path))
  if (!found) throw new Error(`Node needs ${name}, and none of ${LIBRARY_FOLDERS.join(', ')} has it`)
  return found
}

/** In a folder that is no link, under the name by which it is asked for. */
function placeOf(path: string): string {
  return join(realpathSync(dirname(path)), path.slice(dirname(path).length + 1)).slice(1)
}

/** Such as `lib`, which Debian keeps in `usr`. */
function mergedFolders(): ArchivedEntry[] {
  return ['lib', 'lib64']
    .filter((path) => lstatSync(`/${path}`, { throwIfNoEntry: false })?.isSymbolicLink())
    .map((path) => ({ path, linkTo: readlinkSync(`/${path}`) }))
}

function users(): ArchivedFile[] {
  return [
    text('etc/passwd', 'root:x:0:0:root:/root:/usr/sbin/nologin\nnode:x:1000:1000:node:/home/node:/usr/sbin/nologin\n'),
    text('etc/group', 'root:x:0:\nnode:x:1000:\n'),
  ]
}

/** Those that own the files. */
function packagesOf(paths: readonly string[]): DebianPackage[] {
  const names = new Set(paths.map(ownerOf))
  return [...names].toSorted().map((id) => {
    const fields = query('--show', '--showformat', '${Package}\n${Version}\n${Architecture}', id).split('\n')
    const [name, version, architecture] = fields as [string, string, string]
    return { name, version, architecture, status: query('--status', id) }
  })
}

/** dpkg knows a file of a merged folder by either of its paths. */
function ownerOf(path: string): string {
  const real = realpathSync(path)
  for (const known of [real, real.replace(/^\/usr/, '')]) {
    try {
      return query('--search', known).split(': ')[0]!
    } catch {
      // By the other path, then.
    }
  }
  throw new Error(`dpkg knows no package of ${path}, so the bill of materials would lack it`)
}

function query(...args: string[]): string {
  return execFileSync('dpkg-query', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

function describePackage({ name, status }: DebianPackage): ArchivedFile[] {
  return [text(`var/lib/dpkg/status.d/${name}`, status), ...copied(`/usr/share/doc/${name}/copyright`)]
}

function copied(path: string): ArchivedFile[] {
  return existsSync(path) ? [{ path: path.slice(1), content: readFileSync(path) }] : []
}

function text(path: string, content: string): ArchivedFile {
  return { path, content: Buffer.from(content) }
}
