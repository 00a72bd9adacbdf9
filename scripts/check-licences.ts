/**
 * Every installed package's licence is one that we may ship, or use, under Apache-2.0. It works offline, by the
 * packages' own manifests.
 */

import { globSync, lstatSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { refusedLicences } from './licences/refused.ts'

const STORE = join(import.meta.dirname, '../node_modules/.pnpm')

const packages = globSync(['*/node_modules/*/package.json', '*/node_modules/@*/*/package.json'], { cwd: STORE })
  // A link leads to a package that is found where it lies.
  .filter((path) => !lstatSync(join(STORE, dirname(path))).isSymbolicLink())
  .map((path) => JSON.parse(readFileSync(join(STORE, path), 'utf8')) as Parameters<typeof refusedLicences>[0][number])

const refused = refusedLicences(packages)
for (const problem of refused) console.error(problem)
console.log(`${packages.length} packages, ${refused.length} with a licence that is not allowed`)
process.exitCode = refused.length === 0 && packages.length > 0 ? 0 : 1
