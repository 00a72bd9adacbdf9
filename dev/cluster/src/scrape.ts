/**
 * Reads the metrics that processes export at `/metrics`, strictly: a line that Prometheus would not take throws.
 */

import type { Cluster } from './start.ts'

export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

export interface Scrape {
  samples: Sample[]
  /** By metric: as the `# TYPE` lines say. */
  types: Map<string, string>
  /** By metric: as the `# HELP` lines say. */
  helps: Map<string, string>
}

/** All samples of every process of the cluster. */
export async function scrapeCluster(cluster: Cluster): Promise<Scrape> {
  const services = cluster.processes.filter(({ plan }) => plan.script.startsWith('services/'))
  const scrapes = await Promise.all(services.map(({ plan }) => scrape(plan.healthUrl)))
  return {
    samples: scrapes.flatMap(({ samples }) => samples),
    types: new Map(scrapes.flatMap(({ types }) => [...types])),
    helps: new Map(scrapes.flatMap(({ helps }) => [...helps])),
  }
}

export async function scrape(healthUrl: string): Promise<Scrape> {
  const response = await fetch(`${healthUrl}/metrics`)
  if (response.status !== 200) throw new Error(`${healthUrl}/metrics answers ${response.status}`)
  return parseMetrics(await response.text())
}

const SAMPLE = /^([a-z_][a-z0-9_]*)\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\} (\S+)$/
const LABEL = /(?<![a-z_])([a-z_]+)="((?:[^"\\]|\\.)*)"/g

export function parseMetrics(text: string): Scrape {
  const types = new Map<string, string>()
  const helps = new Map<string, string>()
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line)
    if (type) types.set(type[1]!, type[2]!)
    const help = /^# HELP (\S+) (.+)$/.exec(line)
    if (help) helps.set(help[1]!, help[2]!)
    if (line === '' || line.startsWith('#')) continue
    const sample = SAMPLE.exec(line)
    const value = Number(sample?.[3])
    if (!sample || Number.isNaN(value)) throw new Error(`this is no sample: ${line}`)
    const labels = Object.fromEntries(Array.from(sample[2]!.matchAll(LABEL), ([, name, text]) => [name, text]))
    samples.push({ name: sample[1]!, labels, value })
  }
  return { types, helps, samples }
}

/** The sum of a metric's series with these labels. */
export function sumOf({ samples }: Scrape, name: string, labels: Record<string, string> = {}): number {
  const fits = (sample: Sample) =>
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  return samples.filter(fits).reduce((sum, { value }) => sum + value, 0)
}
