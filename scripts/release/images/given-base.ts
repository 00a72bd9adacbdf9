/**
 * A base that a maintainer gives: an OCI archive with Node, such as `skopeo copy docker://… oci-archive:base.tar` writes. Its
 * layers stay as they are. As in `deploy/Dockerfile`, package managers are taken away.
 */

import { posix } from 'node:path'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Base, RunConfig } from './base.ts'
import { digestOf, type Layer, makeLayer } from './layer.ts'
import { readTar } from './read-tar.ts'

const PACKAGE_MANAGERS = /^(?:usr\/local\/(?:lib\/node_modules|bin\/(?:npm|npx|corepack|yarn|yarnpkg))|opt\/yarn[^/]*)$/

interface Descriptor {
  mediaType: string
  digest: string
  platform?: { architecture: string; os: string }
}

interface Index {
  manifests: Descriptor[]
}

type Blobs = (wanted: { digest: string }) => Buffer

export async function readBase(archive: Buffer, modifiedAt: number): Promise<Base> {
  const files = new Map([...readTar(archive)].map(({ path, content }) => [path, content]))
  const blob: Blobs = ({ digest }) => {
    const bytes = files.get(`blobs/${digest.replace(':', '/')}`)
    if (!bytes || digestOf(bytes) !== digest)
      throw new Error(`the base image lacks ${digest}, or holds other bytes there`)
    return bytes
  }
  const index = files.get('index.json')
  if (!index) throw new Error('the base image is no OCI archive: it has no index.json')
  const found = findManifest(parse(index) as Index, blob)
  const manifest = parse(blob(found)) as { config: Descriptor; layers: Descriptor[] }
  const image = parse(blob(manifest.config)) as ImageConfig
  const layers = manifest.layers.map(({ mediaType, digest }, at): Layer => {
    return { bytes: blob({ digest }), mediaType, digest, diffId: image.rootfs.diff_ids[at]! }
  })
  const paths = layers.flatMap(({ bytes }) => [...readTar(decompress(bytes))].map(({ path }) => path))
  const removed = [...new Set(paths)].filter((path) => PACKAGE_MANAGERS.test(path)).map(whiteout)
  return {
    architecture: image.architecture,
    ...(image.variant !== undefined && { variant: image.variant }),
    layers: removed.length === 0 ? layers : [...layers, await makeLayer(removed, modifiedAt)],
    config: { ...image.config, Env: withNode(image.config?.Env ?? [], paths) },
    components: [{ type: 'container', name: 'base', version: found.digest, 'bom-ref': `base@${found.digest}` }],
  }
}

interface ImageConfig {
  architecture: string
  variant?: string
  config?: RunConfig
  rootfs: { diff_ids: string[] }
}

/** An index may name manifests of several platforms, and other indexes. */
function findManifest({ manifests }: Index, blob: Blobs): Descriptor {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const ours = manifests.find(({ platform }) => {
    return !platform || (platform.os === 'linux' && platform.architecture === architecture)
  })
  if (!ours) throw new Error(`the base image has nothing for linux/${architecture}`)
  return ours.mediaType.includes('index') || ours.mediaType.includes('manifest.list')
    ? findManifest(parse(blob(ours)) as Index, blob)
    : ours
}

/** Distroless images keep Node beside the path. */
function withNode(environment: string[], paths: readonly string[]): string[] {
  const folders = paths.filter((path) => path.endsWith('bin/node')).map((path) => `/${posix.dirname(path)}`)
  if (folders.length === 0) throw new Error('the base image has no Node')
  const path = environment.find((one) => one.startsWith('PATH='))?.slice('PATH='.length) ?? ''
  if (folders.some((folder) => path.split(':').includes(folder))) return environment
  return [
    ...environment.filter((one) => !one.startsWith('PATH=')),
    `PATH=${path === '' ? '' : `${path}:`}${folders[0]}`,
  ]
}

/** By this name a layer says that a path of the layers below is gone. */
function whiteout(path: string): { path: string; content: Buffer } {
  return { path: posix.join(posix.dirname(path), `.wh.${posix.basename(path)}`), content: Buffer.alloc(0) }
}

function decompress(bytes: Buffer): Buffer {
  if (bytes.readUInt16BE() === 0x1f8b) return gunzipSync(bytes)
  return bytes.readUInt32LE() === 0xfd2fb528 ? zstdDecompressSync(bytes) : bytes
}

function parse(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString())
}
