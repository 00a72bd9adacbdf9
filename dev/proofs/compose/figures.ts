/**
 * The services' sizes and start times: read from the engine, written into deploy/README.md.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { docker } from '../engine/engine.ts'
import { standIns, targets } from '../engine/images.ts'
import type { Project } from './project.ts'

const PAGE = join(import.meta.dirname, '../../../deploy/README.md')
const BLOCK = /(<!-- begin prove:compose -->\n)[\s\S]*?(<!-- end prove:compose -->)/
const SERVICES = ['edge', 'router', 'keys', 'metering', 'nats-1', 'redis', 'postgres']

export type Figures = Record<string, number>

/** Sizes of our own images, without the stand-in for Node's. */
export async function imageSizesMb(version: string): Promise<Figures> {
  const base = await sizeMb(standIns.node)
  const sizes = targets.map(async (target) => [target, (await sizeMb(`model-gateway/${target}:${version}`)) - base])
  return Object.fromEntries(await Promise.all(sizes)) as Figures
}

async function sizeMb(image: string): Promise<number> {
  return Math.round(Number(await docker('image', 'inspect', '--format', '{{.Size}}', image)) / 1e6)
}

/** From a container's start until its health check passes for the first time. */
export async function secondsUntilHealthy({ container }: Project): Promise<Figures> {
  const times = SERVICES.map(async (service) => {
    const state = JSON.parse(await docker('inspect', '--format', '{{json .State}}', container(service))) as {
      StartedAt: string
      Health: { Log: { End: string; ExitCode: number }[] }
    }
    const passed = state.Health.Log.find(({ ExitCode }) => ExitCode === 0)
    if (!passed) throw new Error(`${service} never passed its health check`)
    return [service, Math.round((Date.parse(passed.End) - Date.parse(state.StartedAt)) / 1000)]
  })
  return Object.fromEntries(await Promise.all(times)) as Figures
}

export async function memoryMb({ container }: Project): Promise<Figures> {
  const names = SERVICES.map((service) => container(service))
  const lines = (await docker('stats', '--no-stream', '--format', '{{.MemUsage}}', ...names)).split('\n')
  return Object.fromEntries(SERVICES.map((service, index) => [service, Math.round(Number.parseFloat(lines[index]!))]))
}

export function inWords(figures: Figures, unit: string): string {
  const words = Object.entries(figures).map(([name, figure]) => `${name} ${figure}`)
  return `${words.join(', ')} ${unit}`
}

export async function writeFigures(sizes: Figures, healthy: Figures, memory: Figures): Promise<void> {
  const rows = SERVICES.map((name) => `| ${name} | ${sizes[name] ?? '–'} | ${healthy[name]} | ${memory[name]} |`)
  const head = [
    '| Container | Image beyond its base, MB | Healthy after, s | Memory, MiB |',
    '| --- | ---: | ---: | ---: |',
  ]
  const page = await readFile(PAGE, 'utf8')
  if (!BLOCK.test(page)) throw new Error('deploy/README.md has no place for the figures')
  await writeFile(PAGE, page.replace(BLOCK, `$1${[...head, ...rows].join('\n')}\n$2`))
}
