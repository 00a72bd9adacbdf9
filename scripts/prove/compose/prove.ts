/**
 * The steps of `npm run prove:compose`, inside the world that `main.ts` opens. A run that passes writes its figures.
 */

import { reportFatal } from '@gateway/service/report-fatal'
import { docker, startEngine } from '../engine/engine.ts'
import { buildImages, makeStandIns } from '../engine/images.ts'
import { step, tableOfSteps } from '../engine/steps.ts'
import { imageSizesMb, inWords, memoryMb, secondsUntilHealthy, writeFigures } from './figures.ts'
import { openProject, type Project } from './project.ts'
import { startClients, stayUnnoticed } from './stay-unnoticed.ts'
import { tour } from './tour.ts'

const FIRST = '0.1.0'
const SECOND = '0.1.0-next'

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
  await prove(await openProject())
} catch (error) {
  console.log(tableOfSteps())
  reportFatal(error)
}
console.log(tableOfSteps())

async function prove(project: Project): Promise<void> {
  const sizes = await step(
    'every target, in two versions',
    async () => {
      await buildImages(FIRST)
      await buildImages(SECOND)
      return imageSizesMb(FIRST)
    },
    (figures) => `beyond the base: ${inWords(figures, 'MB')}`,
  )
  const healthy = await step(
    'docker compose up --wait',
    async () => {
      await project.compose(FIRST, 'up', '--detach', '--wait', '--no-build')
      return secondsUntilHealthy(project)
    },
    (figures) => `healthy after: ${inWords(figures, 's')}`,
  )
  await tour(project, FIRST)
  const clients = await startClients(project, FIRST)
  const memory = await step(
    'memory under load',
    () => memoryMb(project),
    (figures) => inWords(figures, 'MiB'),
  )
  await stayUnnoticed(project, clients, SECOND)
  await step('docker compose down --volumes', async () => {
    await project.compose(SECOND, 'down', '--volumes')
    const left = await docker('ps', '--all', '--quiet')
    if (left !== '') throw new Error(`containers stay: ${left}`)
    return 'no container stays'
  })
  await writeFigures(sizes, healthy, memory)
}
