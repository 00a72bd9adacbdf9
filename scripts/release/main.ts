/**
 * `npm run release -- [folder] [--base <oci-archive>]`: writes all files of a release below the folder, `.artifacts/release` by
 * default. Offline, and reproducible: the same commit gives the same bytes. docs/release.md says how a maintainer publishes
 * them.
 */

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { reportFatal } from '@gateway/service/report-fatal'
import { targets } from '../deploy/dockerfile.ts'
import { filesBelow } from './files-below.ts'
import { type Base, makeBase } from './images/base.ts'
import { readBase } from './images/given-base.ts'
import { makeImage } from './images/images.ts'
import { canMakeBase } from './images/minimal-base.ts'
import { npmPackage } from './npm-package.ts'
import { type Made, provenanceOf } from './provenance.ts'
import { differingVersions, versionOf, versionOfImage } from './versions.ts'
import { sha256, writeTarball } from './write-tar.ts'

const ROOT = join(import.meta.dirname, '../..')
const version = versionOf(ROOT)
const commit = git('rev-parse', 'HEAD')
const createdAt = Number(process.env['SOURCE_DATE_EPOCH'] || git('log', '-1', '--format=%ct'))

try {
  const { values, positionals } = parseArgs({ options: { base: { type: 'string' } }, allowPositionals: true })
  const [folder = join(ROOT, '.artifacts/release'), ...more] = positionals
  if (more.length > 0) throw new Error('usage: npm run release -- [folder] [--base <oci-archive>]')
  await release(resolve(folder), values.base)
} catch (error) {
  reportFatal(error)
}

async function release(out: string, givenBase: string | undefined): Promise<void> {
  const others = differingVersions(ROOT)
  if (others.length > 0) throw new Error(`these places name another version than package.json:\n${others.join('\n')}`)
  if (git('status', '--porcelain') !== '')
    console.warn('The checkout has changes that no commit holds: do not publish this.')
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const files: Made[] = []
  const write = (name: string, bytes: Buffer): void => {
    writeFileSync(join(out, name), bytes)
    files.push({ name, sha256: sha256(bytes) })
    console.log(`${String(bytes.length).padStart(10)} bytes  ${join(out, name)}`)
  }
  write(`model-gateway-${version}.tgz`, writeTarball('package', npmPackage(ROOT), createdAt))
  const chart = filesBelow(join(ROOT, 'deploy/chart'))
  write(`model-gateway-chart-${version}.tgz`, writeTarball('model-gateway', chart, createdAt))
  const images = await writeImages(givenBase, write)
  const source = { commit, committedAt: new Date(createdAt * 1000) }
  const statement = provenanceOf([...files, ...images], source)
  write('provenance.json', Buffer.from(`${JSON.stringify(statement, null, 2)}\n`))
  const sums = files.map((file) => `${file.sha256}  ${file.name}\n`).join('')
  writeFileSync(join(out, 'SHA256SUMS'), sums)
  console.log([...images.map((image) => `${image.sha256}  ${image.name}`), sums.trimEnd()].join('\n'))
}

/** Answers the digests by which registries name the images. */
async function writeImages(
  givenBase: string | undefined,
  write: (name: string, bytes: Buffer) => void,
): Promise<Made[]> {
  if (givenBase === undefined && !canMakeBase) {
    console.warn('No images: their base is made of Debian’s packages. Elsewhere give one with --base <oci-archive>.')
    return []
  }
  const base: Base = givenBase ? await readBase(readFileSync(givenBase), createdAt) : await makeBase(createdAt)
  const made: Made[] = []
  for (const target of targets) {
    const own = versionOfImage(ROOT, target)
    const { name, bytes, digest, bill } = await makeImage(target, base, { version: own, commit, createdAt })
    write(`model-gateway-${target}-${own}.oci.tar`, bytes)
    write(`model-gateway-${target}-${own}.cdx.json`, bill)
    made.push({ name, sha256: digest.slice('sha256:'.length) })
  }
  return made
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}
