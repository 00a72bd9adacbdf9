/**
 * An image in one file: OCI's layout in a tar. `manifest.json` stands beside the index, so that `docker load` of engines
 * before 25 reads it too.
 */

import { sha256, writeTar } from '../write-tar.ts'
import type { RunConfig } from './base.ts'
import { digestOf, type Layer } from './layer.ts'

export interface Image {
  /** `model-gateway/edge:0.1.0`. */
  name: string
  architecture: string
  variant?: string
  layers: readonly Layer[]
  config: RunConfig
  createdAt: number
}

export interface OciArchive {
  bytes: Buffer
  /** Of the manifest: a registry names the image by it. */
  digest: string
}

const CONFIG_TYPE = 'application/vnd.oci.image.config.v1+json'
const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json'
const INDEX_TYPE = 'application/vnd.oci.image.index.v1+json'

export function ociArchive(image: Image): OciArchive {
  const { name, layers, createdAt } = image
  const config = json(configOf(image))
  const manifest = json({
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: { mediaType: CONFIG_TYPE, digest: digestOf(config), size: config.length },
    layers: layers.map(({ mediaType, digest, bytes }) => ({ mediaType, digest, size: bytes.length })),
    annotations: { ...image.config.Labels, 'org.opencontainers.image.created': timeOf(createdAt) },
  })
  const digest = digestOf(manifest)
  const index = {
    schemaVersion: 2,
    mediaType: INDEX_TYPE,
    manifests: [{ mediaType: MANIFEST_TYPE, digest, size: manifest.length, annotations: namesOf(name) }],
  }
  const forDocker = {
    Config: blobPath(sha256(config)),
    RepoTags: [name],
    Layers: layers.map((layer) => blobPath(layer.digest.slice('sha256:'.length))),
  }
  const blobs = [config, manifest, ...layers.map(({ bytes }) => bytes)]
  const files = [
    { path: 'oci-layout', content: json({ imageLayoutVersion: '1.0.0' }) },
    { path: 'index.json', content: json(index) },
    { path: 'manifest.json', content: json([forDocker]) },
    ...blobs.map((content) => ({ path: blobPath(sha256(content)), content })),
  ]
  return { bytes: writeTar(files, createdAt), digest }
}

function configOf({ architecture, variant, layers, config, createdAt }: Image): object {
  return {
    created: timeOf(createdAt),
    architecture,
    ...(variant !== undefined && { variant }),
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(() => ({ created: timeOf(createdAt), created_by: 'npm run release' })),
  }
}

/** containerd takes the whole name, other programs the tag. */
function namesOf(name: string): Record<string, string> {
  return {
    'io.containerd.image.name': `docker.io/${name}`,
    'org.opencontainers.image.ref.name': name.slice(name.indexOf(':') + 1),
  }
}

function blobPath(digest: string): string {
  return `blobs/sha256/${digest}`
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}
