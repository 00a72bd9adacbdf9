/** A layer of an image: a compressed tar, named by its digest. */

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type ArchivedEntry, sha256, writeTar } from '../write-tar.ts'

export interface Layer {
  bytes: Buffer
  mediaType: string
  digest: string
  /** Of its content, decompressed. */
  diffId: string
}

export const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar+gzip'

export async function makeLayer(entries: readonly ArchivedEntry[], modifiedAt: number): Promise<Layer> {
  const tar = writeTar([...foldersAbove(entries), ...entries], modifiedAt)
  const bytes = await promisify(gzip)(tar, { level: 6 })
  return { bytes, mediaType: LAYER_TYPE, digest: digestOf(bytes), diffId: digestOf(tar) }
}

export function digestOf(bytes: Buffer): string {
  return `sha256:${sha256(bytes)}`
}

/** An engine would make a folder that no entry names for root alone. */
function foldersAbove(entries: readonly ArchivedEntry[]): ArchivedEntry[] {
  const named = new Set(entries.map(({ path }) => path))
  const above = entries.flatMap(({ path }) => {
    const parts = path.split('/').slice(0, -1)
    return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
  })
  return [...new Set(above).difference(named)].map((path) => ({ path, folderMode: 0o755 }))
}
