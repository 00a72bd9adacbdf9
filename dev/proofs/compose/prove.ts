/**
 * The steps of `npm run prove compose`, inside the world that `main.ts` opens. A run that passes writes its figures.
 */

import { reportFatal } from '@gateway/service/report-fatal'
import { docker, startEngine } from '../engine/engine.ts'
import { makeStandIns } from '../engine/images.ts'
import { makeImages } from '../engine/released-images.ts'
import { step, tableOfSteps } from '../engine/steps.ts'
import { imageSizesMb, inWords, memoryMb, secondsUntilHealthy, writeFigures } from './figures.ts'
import { makeFormerImage } from './former-image.ts'
import { FORMER, openProject, PRESENT, PRESENT_TAG, type Project, type Version } from './project.ts'
import { loseServers, proveResponses, roll, startClients } from './stay-unnoticed.ts'
import { tour } from './tour.ts'

try {
  await using stack = new AsyncDisposableStack()
  await step('engine', async () => {
    stack.use(await startEngine())
    return docker('info', '--format', '{{.ServerVersion}}, {{.Driver}}, cgroup v{{.CgroupVersion}}')
  })
  await step('stand-in images', async () => {
    await makeStandIns()
    return 'Debian with Node, NATS, Redis, PostgreSQL'
  })
  const sizes = await step(
    'the images of a release',
    async () => {
      await makeImages(PRESENT_TAG)
      return imageSizesMb(PRESENT_TAG)
    },
    (figures) => `beyond the base: ${inWords(figures, 'MB')}`,
  )
  await step('the last release', async () => {
    await makeFormerImage()
    return 'its services, out of the history'
  })
  const { healthy, memory } = await prove(await openProject())
  await writeFigures(sizes, healthy, memory)
} catch (error) {
  console.log(tableOfSteps())
  reportFatal(error)
}
console.log(tableOfSteps())

async function prove(project: Project) {
  await step('docker compose up --wait, the last release', async () => {
    await project.compose(FORMER, 'up', '--detach', '--wait', '--no-build')
    return 'every container is healthy'
  })
  const load = await startClients(project)
  await roll(project, load, PRESENT)
  await tour(project)
  const memory = await step(
    'memory under load',
    () => memoryMb(project),
    (figures) => inWords(figures, 'MiB'),
  )
  await loseServers(project, load)
  await roll(project, load, FORMER)
  await proveResponses(project, load)
  await takeDown(project, FORMER)
  const healthy = await step(
    'docker compose up --wait, this version on empty volumes',
    async () => {
      await project.compose(PRESENT, 'up', '--detach', '--wait', '--no-build')
      // Docker keeps five results of a health check, so only a new container still shows its first one.
      return secondsUntilHealthy(project)
    },
    (figures) => inWords(figures, 's'),
  )
  await takeDown(project, PRESENT)
  return { healthy, memory }
}

async function takeDown(project: Project, version: Version): Promise<void> {
  await step('docker compose down --volumes', async () => {
    await project.compose(version, 'down', '--volumes')
    const left = await docker('ps', '--all', '--quiet')
    if (left !== '') throw new Error(`containers stay: ${left}`)
    return 'no container stays'
  })
}
