/**
 * The part of the workspace that one service runs on: its own folder and those of the packages that it needs, without
 * tests. Needs Node alone: images are filled before anything is installed.
 */

import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface PackageManifest {
  name: string
  version: string
  exports?: Record<string, string>
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

/** Tests, and files that only tests import. */
const TESTS = /\.test\.ts$|(?:^|\/)(?:test|conformance)(?:\/|$)/

export function readManifest(root: string, folder: string): PackageManifest {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as PackageManifest
}

/** The folders themselves and every workspace package that they need to run. */
export function foldersNeededBy(root: string, ...folders: string[]): string[] {
  const byName = new Map(
    globSync('{packages,services}/*/package.json', { cwd: root }).map((path) => {
      return [readManifest(root, dirname(path)).name, dirname(path)] as const
    }),
  )
  const found = new Set(folders)
  for (const each of found) {
    for (const name of Object.keys(readManifest(root, each).dependencies ?? {})) {
      const needed = byName.get(name)
      if (needed) found.add(needed)
    }
  }
  return [...found]
}

/** `path`: below the folder `src` or `dist` of a package. */
export function isShipped(path: string): boolean {
  return !TESTS.test(path)
}
