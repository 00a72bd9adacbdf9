/**
 * The images of everything that runs in the cluster: the services in two versions, stand-ins of a registry's, and CoreDNS. One
 * more holds a pod's namespaces.
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { docker, DOCKER, startEngine } from '../../engine/engine.ts'
import { imageOf, makeStandIns, standIns, targets } from '../../engine/images.ts'
import { makeImages } from '../../engine/released-images.ts'
import { step } from '../../engine/steps.ts'
import type { ClusterImages } from '../cluster.ts'

export const PAUSE_IMAGE = 'prove/pause:1'
export const NAMES_IMAGE = 'prove/coredns:1'
const VERSION = '0.1.0'
/** The same programs under another name: a rollout replaces every pod. */
const OTHER_VERSION = '0.1.1'
/** Every node has them before its first pod. */
export const loadedImages: ClusterImages = {
  registry: 'model-gateway',
  tag: VERSION,
  otherTag: OTHER_VERSION,
  pullPolicy: 'Never',
  ...standIns,
}

export interface Images extends AsyncDisposable {
  load(ctr: readonly string[]): Promise<void>
}

export async function openImages(nodePrograms: string): Promise<Images> {
  await using opening = new AsyncDisposableStack()
  opening.use(await step('container engine', startEngine))
  await step('stand-ins of a registry’s images', makeStandIns)
  await step('images of the services', async () => {
    await makeImages(VERSION)
    for (const target of targets) await docker('tag', imageOf(target, VERSION), imageOf(target, OTHER_VERSION))
    await importProgram(nodePrograms, 'pause', PAUSE_IMAGE)
    await importProgram(nodePrograms, 'coredns', NAMES_IMAGE)
  })
  const versions = [VERSION, OTHER_VERSION].flatMap((version) => targets.map((target) => imageOf(target, version)))
  const opened = opening.move()
  return {
    load: async (ctr) => {
      await pipe(
        '"$1" save $2 | ctr $3 images import -',
        DOCKER,
        [...versions, ...Object.values(standIns), PAUSE_IMAGE, NAMES_IMAGE],
        ctr,
      )
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function importProgram(folder: string, program: string, image: string): Promise<void> {
  const script = 'tar -C "$1" -c "$2" | "$3" import --change "ENTRYPOINT [\\"/$2\\"]" - "$4"'
  await promisify(execFile)('sh', ['-c', script, 'sh', folder, program, DOCKER, image])
}

async function pipe(script: string, program: string, images: string[], ctr: readonly string[]): Promise<void> {
  await promisify(execFile)('bash', ['-o', 'pipefail', '-c', script, 'bash', program, images.join(' '), ctr.join(' ')])
}
