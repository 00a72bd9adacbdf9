/**
 * Releases of this commit, made by `npm run release` on builders of our own, with Node's stand-in as their base.
 */

import { globSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { versionOfImage } from '../../../scripts/release/versions.ts'
import { type Builder, startBuilder } from './builder.ts'
import { CACHE, execute } from './engine.ts'
import { imageOf, standIns, targets } from './images.ts'

const ROOT = join(import.meta.dirname, '../../..')
const BASE = join(CACHE, 'base')
/** Debian's skopeo may come without a policy of signatures. */
const SKOPEO = ['--insecure-policy', 'copy', '--quiet']

/** Returns the folder of a release. */
export async function release(name: string, { environment }: Builder): Promise<string> {
  const folder = join(CACHE, 'release', name)
  await rm(BASE, { recursive: true, force: true })
  await execute('skopeo', [...SKOPEO, `docker-daemon:${standIns.node}:latest`, `oci:${BASE}:latest`])
  const args = [join(ROOT, 'scripts/release/main.ts'), folder, '--base', `oci-layout://${BASE}:latest`]
  await execute(process.execPath, args, {
    env: { ...process.env, ...environment, BUILDKIT_PROGRESS: 'plain' },
    maxBuffer: 64 * 1024 * 1024,
  })
  return folder
}

/** The digest of each image's contents in a release. */
export function contentsOf(folder: string): Record<string, string> {
  const { subject } = JSON.parse(readFileSync(join(folder, 'provenance.json'), 'utf8')) as {
    subject: { name: string; digest: { sha256: string } }[]
  }
  const images = subject.filter(({ name }) => name.startsWith('model-gateway/'))
  return Object.fromEntries(images.map(({ name, digest }) => [name, digest.sha256]))
}

/** Gives the engine the images of a release, as `model-gateway/<target>:<version>`. */
export async function loadImages(folder: string, version: string): Promise<void> {
  for (const target of targets) {
    const [archive] = globSync(`model-gateway-${target}-${versionOfImage(ROOT, target)}.oci.tar`, { cwd: folder })
    const source = `oci-archive:${join(folder, archive!)}`
    await execute('skopeo', [...SKOPEO, source, `docker-daemon:${imageOf(target, version)}`])
  }
}

/** Makes a release and loads its images. */
export async function makeImages(version: string): Promise<void> {
  await using builder = await startBuilder('prove', 'builder')
  await loadImages(await release('proved', builder), version)
}
