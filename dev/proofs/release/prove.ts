/** The steps of `npm run prove release`, inside the world that `main.ts` opens. */

import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { reportFatal } from '@gateway/service/report-fatal'
import { startBuilder } from '../engine/builder.ts'
import { CACHE, docker, execute, startEngine } from '../engine/engine.ts'
import { imageOf, makeStandIns, type Target } from '../engine/images.ts'
import { contentsOf, loadImages, release } from '../engine/released-images.ts'
import { step, tableOfSteps } from '../engine/steps.ts'

const TAG = 'proved'
/** The first setting that each of them lacks. */
const SETTINGS: [Target, string][] = [
  ['edge', 'NATS_URL'],
  ['router', 'NATS_URL'],
  ['keys', 'KEYS_MASTER_SECRET'],
  ['metering', 'NATS_URL'],
]

try {
  await using stack = new AsyncDisposableStack()
  await step('engine', async () => void stack.use(await startEngine()))
  await step('a stand-in for Node’s image', () => makeStandIns(['node']))
  const first = await step('npm run release', () => releaseOn('one', 'builder'))
  const second = await step('npm run release, on a builder with an empty cache', async () => {
    await rm(join(CACHE, 'empty-builder'), { recursive: true, force: true })
    return releaseOn('two', 'empty-builder')
  })
  await step('the same contents', async () => expectSameContents(first, second))
  await step('docker load', () => loadImages(second, TAG))
  for (const [target, setting] of SETTINGS) {
    await step(`${target} starts, unprivileged, and names the setting that it lacks`, () => lacks(target, setting))
  }
  await step('an image’s Node resolves names, and is nobody special', findsNames)
} catch (error) {
  console.log(tableOfSteps())
  reportFatal(error)
}
console.log(tableOfSteps())

async function releaseOn(name: string, cache: string): Promise<string> {
  await using builder = await startBuilder(name, cache)
  return await release(name, builder)
}

function expectSameContents(first: string, second: string): string {
  const [images, others] = [contentsOf(first), contentsOf(second)]
  if (Object.keys(images).length === 0 || !isDeepStrictEqual(images, others)) {
    throw new Error(`the images differ: ${JSON.stringify({ images, others }, null, 1)}`)
  }
  const packages = (folder: string) => readFileSync(join(folder, 'SHA256SUMS'), 'utf8').match(/^.*\.tgz$/gm)
  if (!isDeepStrictEqual(packages(first), packages(second))) throw new Error('the npm packages or charts differ')
  return `${Object.keys(images).length} images, the npm package, the chart`
}

async function lacks(target: Target, setting: string): Promise<void> {
  const isolated = ['run', '--rm', '--read-only', '--network', 'none', imageOf(target, TAG)]
  const failure = await execute('docker', isolated).then(
    () => undefined,
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  if (failure?.code === 1 && `${failure.stdout}${failure.stderr}`.includes(setting)) return
  throw new Error(`it ended otherwise: ${JSON.stringify(failure)}`)
}

async function findsNames(): Promise<string> {
  const program = `require('dns').lookup('localhost', (error, address) => console.log(error ?? address, process.getuid()))`
  const found = await docker('run', '--rm', '--entrypoint', 'node', imageOf('ctl', TAG), '--eval', program)
  if (!/^(?:127\.|::1).* 1000$/.test(found)) throw new Error(found)
  return found
}
