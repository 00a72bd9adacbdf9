/**
 * `npm run release -- [folder] [--base <context>] [--without-images]`: writes all files of a release below the folder,
 * `.artifacts/release` by default. Reproducible: the same commit gives the same npm package and chart, and images of the same
 * contents. docs/release.md says how a maintainer publishes them.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { reportFatal } from '@gateway/service/report-fatal'
import { baseImage, targets } from '../deploy/dockerfile.ts'
import { filesBelow } from './archived-files.ts'
import { billOfMaterials } from './bill-of-materials.ts'
import { git, unpackCommit } from './git.ts'
import { buildImage, nameOfImage } from './image.ts'
import { npmPackage } from './npm-package.ts'
import { type Made, provenanceOf, sha256 } from './provenance.ts'
import { makeTarball } from './tarball.ts'
import { differingVersions, versionOf, versionOfImage } from './versions.ts'

const ROOT = join(import.meta.dirname, '../..')
const version = versionOf(ROOT)
const commit = git(ROOT, 'rev-parse', 'HEAD')
const createdAt = Number(process.env['SOURCE_DATE_EPOCH'] || git(ROOT, 'log', '-1', '--format=%ct'))

try {
  const { values, positionals } = parseArgs({
    options: { base: { type: 'string' }, 'without-images': { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const [folder = join(ROOT, '.artifacts/release'), ...more] = positionals
  if (more.length > 0) throw new Error('usage: npm run release -- [folder] [--base <context>] [--without-images]')
  await release(resolve(folder), { base: values.base, hasImages: !values['without-images'] })
} catch (error) {
  reportFatal(error)
}

async function release(out: string, { base, hasImages }: { base: string | undefined; hasImages: boolean }) {
  const others = differingVersions(ROOT)
  if (others.length > 0) throw new Error(`these places name another version than package.json:\n${others.join('\n')}`)
  if (git(ROOT, 'status', '--porcelain') !== '')
    console.warn('The checkout has changes that no commit holds: do not publish this.')
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const files: Made[] = []
  const note = (name: string, bytes: Buffer): void => {
    files.push({ name, sha256: sha256(bytes) })
    console.log(`${String(bytes.length).padStart(10)} bytes  ${join(out, name)}`)
  }
  const write = (name: string, bytes: Buffer): void => {
    writeFileSync(join(out, name), bytes)
    note(name, bytes)
  }
  write(`model-gateway-${version}.tgz`, await makeTarball('package', npmPackage(ROOT), createdAt))
  const chart = filesBelow(join(ROOT, 'deploy/chart'))
  write(`model-gateway-chart-${version}.tgz`, await makeTarball('model-gateway', chart, createdAt))
  const images = hasImages ? await buildImages(out, base) : []
  for (const { archive, bill } of images) {
    note(archive, await readFile(join(out, archive)))
    write(archive.replace(/oci\.tar$/, 'cdx.json'), bill)
  }
  const source = { commit, committedAt: new Date(createdAt * 1000) }
  const statement = provenanceOf([...files, ...images], source)
  write('provenance.json', Buffer.from(`${JSON.stringify(statement, null, 2)}\n`))
  const sums = files.map((file) => `${file.sha256}  ${file.name}\n`).join('')
  writeFileSync(join(out, 'SHA256SUMS'), sums)
  console.log([...images.map((image) => `${image.sha256}  ${image.name}`), sums.trimEnd()].join('\n'))
}

/** `sha256`: of an image's contents; registries name the image by it. */
interface MadeImage extends Made {
  archive: string
  bill: Buffer
}

/** Builds the commit's images. Uncommitted files of the checkout have no part in them. */
async function buildImages(out: string, base: string | undefined): Promise<MadeImage[]> {
  const checkout = await mkdtemp(join(tmpdir(), 'gateway-commit-'))
  try {
    await unpackCommit(ROOT, commit, checkout)
    const made: MadeImage[] = []
    for (const target of targets) {
      const own = versionOfImage(ROOT, target)
      const archive = `model-gateway-${target}-${own}.oci.tar`
      const plan = { target, version: own, commit, createdAt, checkout, archive: join(out, archive), base }
      const digest = await buildImage(plan)
      const bill = await billOfMaterials({ target, version: own, digest, base: base ?? baseImage, createdAt })
      made.push({ name: nameOfImage(plan), sha256: digest.slice('sha256:'.length), archive, bill })
    }
    return made
  } finally {
    await rm(checkout, { recursive: true })
  }
}
