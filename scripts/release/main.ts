/**
 * `npm run release -- [folder]`: writes all files of a release below the folder, `.artifacts/release` by default. Offline, and
 * reproducible: the same commit gives the same bytes. docs/release.md says how a maintainer publishes them.
 */

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { filesBelow } from './files-below.ts'
import { npmPackage } from './npm-package.ts'
import { provenanceOf } from './provenance.ts'
import { servicesPackage } from './services-package.ts'
import { differingVersions, versionOf } from './versions.ts'
import { sha256, writeTarball } from './write-tar.ts'

const ROOT = join(import.meta.dirname, '../..')
const out = resolve(process.argv[2] ?? join(ROOT, '.artifacts/release'))

const others = differingVersions(ROOT)
if (others.length > 0) fail(`these places name another version than package.json:\n  ${others.join('\n  ')}`)
if (git('status', '--porcelain') !== '')
  console.warn('The checkout has changes that no commit holds: do not publish this.')

const version = versionOf(ROOT)
const commit = git('rev-parse', 'HEAD')
const committedAtSeconds = Number(git('log', '-1', '--format=%ct'))
const files = new Map([
  [`model-gateway-${version}.tgz`, writeTarball('package', npmPackage(ROOT), committedAtSeconds)],
  [`model-gateway-services-${version}.tgz`, writeTarball('services', servicesPackage(ROOT), committedAtSeconds)],
  [
    `model-gateway-chart-${version}.tgz`,
    writeTarball('model-gateway', filesBelow(join(ROOT, 'deploy/chart')), committedAtSeconds),
  ],
])
const made = [...files].map(([name, bytes]) => ({ name, sha256: sha256(bytes) }))
const statement = provenanceOf(made, { commit, committedAt: new Date(committedAtSeconds * 1000) })
files.set('provenance.json', Buffer.from(`${JSON.stringify(statement, null, 2)}\n`))
files.set('SHA256SUMS', Buffer.from(made.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')))

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
for (const [name, bytes] of files) {
  writeFileSync(join(out, name), bytes)
  console.log(`${String(bytes.length).padStart(9)} bytes  ${join(out, name)}`)
}
console.log(readFileSync(join(out, 'SHA256SUMS'), 'utf8').trimEnd())

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}

function fail(why: string): never {
  process.stderr.write(`release: ${why}\n`)
  process.exit(1)
}
