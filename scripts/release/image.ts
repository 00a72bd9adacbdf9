/**
 * An image of a release, by `docker buildx`: an OCI archive with its provenance. The same commit and the same base give the
 * same contents on every builder, since no file is younger than the commit.
 */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface ImagePlan {
  target: string
  version: string
  commit: string
  /** In seconds since 1970. */
  createdAt: number
  /** A folder with the commit's files. */
  checkout: string
  archive: string
  /** In place of the Dockerfile's: a build context of BuildKit, such as `docker-image://` or `oci-layout://`. */
  base?: string | undefined
}

export function nameOfImage({ target, version }: Pick<ImagePlan, 'target' | 'version'>): string {
  return `model-gateway/${target}:${version}`
}

/** The arguments of `docker`. */
export function buildArguments(plan: ImagePlan): string[] {
  const { target, version, commit, checkout, archive, base } = plan
  const buildArgs = { VERSION: version, REVISION: commit, ...(base && { NODE_IMAGE: 'base' }) }
  return [
    ...['buildx', 'build', '--file', join(checkout, 'deploy/Dockerfile'), '--target', target],
    ...Object.entries(buildArgs).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    ...(base ? ['--build-context', `base=${base}`] : []),
    ...['--provenance', 'mode=max'],
    ...['--output', `type=oci,dest=${archive},name=${nameOfImage(plan)},rewrite-timestamp=true`],
    checkout,
  ]
}

/** Returns the digest of the image's contents. */
export async function buildImage(plan: ImagePlan): Promise<string> {
  const docker = spawn('docker', buildArguments(plan), {
    stdio: ['ignore', 'inherit', 'inherit'],
    // Buildx hands it to the Dockerfile too.
    env: { ...process.env, SOURCE_DATE_EPOCH: String(plan.createdAt) },
  })
  const advice = 'Images need docker buildx with a builder that writes OCI archives: docker buildx create --use'
  const [code] = (await once(docker, 'exit').catch((cause: unknown) => {
    throw new Error(`There is no docker. ${advice}`, { cause })
  })) as [number | null]
  if (code !== 0) throw new Error(`docker buildx did not build ${nameOfImage(plan)}. ${advice}`)
  return digestOfContents(plan.archive)
}

interface Descriptor {
  mediaType: string
  digest: string
  platform?: { os: string }
}

const INDEX_TYPE = 'application/vnd.oci.image.index.v1+json'

/**
 * Of the image's own manifest, which names its configuration and layers. The archive's index has another digest in every
 * build, since it names the provenance with the time of the build.
 */
export async function digestOfContents(archive: string): Promise<string> {
  const descriptors = async (path: string): Promise<Descriptor[]> => {
    const { stdout } = await promisify(execFile)('tar', ['-xOf', archive, path])
    const { manifests } = JSON.parse(stdout) as { manifests: Descriptor[] }
    const inner = manifests.map(async (one) => {
      return one.mediaType === INDEX_TYPE ? descriptors(`blobs/${one.digest.replace(':', '/')}`) : [one]
    })
    return (await Promise.all(inner)).flat()
  }
  const images = (await descriptors('index.json')).filter(({ platform }) => platform?.os !== 'unknown')
  if (images.length !== 1) throw new Error(`${archive} holds ${images.length} images`)
  return images[0]!.digest
}
