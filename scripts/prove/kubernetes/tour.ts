/**
 * The gateway in the cluster: installed, used, restarted, upgraded, struck and uninstalled, with clients asking meanwhile.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { send } from '../../../tests/promises/gateway.ts'
import { proveLedger } from '../engine/ledger.ts'
import { expectNoFailure } from '../engine/outcomes.ts'
import { step } from '../engine/steps.ts'
import { type Clients, openClients } from './clients.ts'
import type { ClusterTools } from './cluster-tools.ts'
import { OTHER_VERSION } from './images.ts'
import { exhaustMemory } from './memory-limit.ts'
import { openRelease, type Release, SERVICES } from './release.ts'
import { namesIn } from './release-steps.ts'
import { gatewayConfig, NAMESPACE, type Stage } from './stage.ts'

const CONFIG_WITHIN_MS = 180_000
const BY_FORCE = ['--grace-period=0', '--force']

export interface Scene {
  tools: ClusterTools
  stage: Stage
  state: string
  /** Answers the name of a second node. */
  addNode(): Promise<string>
}

export async function tour({ tools, stage: { databaseUrl }, state, addNode }: Scene): Promise<void> {
  const release = await openRelease(tools, state)
  await step('install: every pod is ready', release.install)
  const clients = await step('sign in, key, chat, stream, quota through the Service', () => openClients(databaseUrl))
  const failures: unknown[] = []
  // The next strike is proved also when this one was noticed.
  const prove = (title: string, work: () => Promise<string>) =>
    step(title, work).catch((error: unknown) => void failures.push(error))
  const unnoticed = (title: string, strike: () => Promise<unknown>) =>
    prove(title, async () => expectNoFailure(await clients.during(strike)))
  const exact = (title: string, strike: () => Promise<unknown>) =>
    prove(title, async () => `${expectNoFailure(await clients.during(strike), () => true)}; ledger exact`)

  for (const component of [...SERVICES, 'nats'] as const)
    await unnoticed(`rolling restart of ${component}`, () => release.restart(component))
  await unnoticed('three edge pods deleted, one after the other', async () => {
    for (let count = 0; count < 3; count++) await release.deletePod('edge')
  })
  await unnoticed('helm upgrade to another version', () => release.upgrade('--set', `image.tag=${OTHER_VERSION}`))
  await unnoticed('helm rollback', release.rollback)
  for (const component of [...SERVICES, 'nats'] as const)
    await exact(`a pod of ${component} deleted by force`, () => release.deletePod(component, ...BY_FORCE))
  await exact('an edge at its memory limit, killed by the kernel', () => exhaustMemory(release, 'edge'))
  const node = await step('a second node', addNode)
  await unnoticed('rolling restart onto both nodes', async () => {
    for (const component of SERVICES) await release.restart(component)
  })
  await unnoticed('kubectl drain of the second node', () => drain(tools, release, node))
  await prove('a change of the ConfigMap: every edge has it', () => changeConfig(release, clients))
  await prove('the ledger after all of this', async () => {
    return `${await proveLedger(databaseUrl, clients.outcomes)} answers, each once, with its tokens`
  })
  await prove('uninstall leaves the volume claims of NATS alone', () => expectGone(tools, release))
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} steps failed`)
}

async function drain(tools: ClusterTools, release: Release, node: string): Promise<void> {
  const on = async () => {
    const pods = await Promise.all(SERVICES.map(release.pods))
    return pods.flat().filter(({ spec }) => spec.nodeName === node).length
  }
  if ((await on()) === 0) throw new Error('no pod came to the second node')
  await tools.kubectl('drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=300s')
  await release.rolledOut()
  if ((await on()) > 0) throw new Error('a pod is still on the drained node')
}

async function changeConfig(release: Release, { key }: Clients): Promise<string> {
  const beganMs = performance.now()
  await release.upgrade('--set-json', `config=${JSON.stringify(gatewayConfig('added'))}`)
  const waiting = new Set((await release.pods('edge')).map(({ status }) => status.podIP))
  while (waiting.size > 0) {
    if (performance.now() - beganMs > CONFIG_WITHIN_MS) throw new Error(`${[...waiting].join(', ')} never had it`)
    for (const address of waiting) {
      const { body } = await send(`http://${address}:8080`, '/v1/models', { key })
      if ((body['data'] as { id: string }[]).some(({ id }) => id === 'added')) waiting.delete(address)
    }
    await delay(250)
  }
  return `after ${((performance.now() - beganMs) / 1000).toFixed(0)} s`
}

async function expectGone(tools: ClusterTools, release: Release): Promise<string> {
  const ofRelease = async () =>
    (await namesIn(tools, NAMESPACE)).filter((name) => name.includes('gateway-model-gateway'))
  const before = await ofRelease()
  await release.uninstall()
  const left = (await ofRelease()).filter((name) => !name.startsWith('persistentvolumeclaim/'))
  if (left.length > 0) throw new Error(`these are left: ${left.join(', ')}`)
  return `${before.length} objects before`
}
