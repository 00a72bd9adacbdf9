/**
 * Volumes for the claims of NATS and Redis, since nobody provisions them here: folders of the first node.
 */

import { mkdirSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClusterTools } from '../cluster-tools.ts'

const VOLUMES = 4
const VOLUME_SIZE = '10Gi'

/** They wait for their claims. */
export async function offerVolumes(tools: ClusterTools, state: string, node: string): Promise<void> {
  const folders = Array.from({ length: VOLUMES }, (_, index) => join(state, 'volumes', String(index + 1)))
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true })
    await chmod(folder, 0o777)
  }
  const volumes = folders.map((path, index) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `volume-${index + 1}` },
    spec: {
      capacity: { storage: VOLUME_SIZE },
      accessModes: ['ReadWriteOnce'],
      local: { path },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
          ],
        },
      },
    },
  }))
  await tools.apply(volumes)
}
