/**
 * The page that a process' metrics are written on: every name once, with the series of all its services below it.
 */

/** One number, or one for each set of label values. */
export type Reading = number | Iterable<readonly [values: readonly string[], value: number]>

export interface Head {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  labelNames: readonly string[]
  service: string
}

export interface Page {
  /** Answers where to announce each new series; throws when the name is taken or means something else elsewhere. */
  add(head: Head): (values: readonly string[], cell: Cell) => void
  observe(head: Head, read: () => Reading): void
  text(): string
}

/** The value of a series: a number, or a histogram's counts by bucket. */
export type Cell = { value: number } | { bounds: readonly number[]; counts: readonly number[]; sum: number }

interface Metric extends Head {
  /** By service. */
  parts: Map<string, () => string>
}

export function openPage(): Page {
  const metrics = new Map<string, Metric>()

  function register(head: Head, write: () => string): void {
    const { name, service } = head
    if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error(`"${name}" is not a metric name`)
    const known = metrics.get(name) ?? { ...head, parts: new Map<string, () => string>() }
    if (known.parts.has(service)) throw new Error(`the metric ${name} exists already`)
    if (meaningOf(known) !== meaningOf(head)) throw new Error(`the metric ${name} means something else elsewhere`)
    metrics.set(name, known)
    known.parts.set(service, write)
  }

  return {
    add(head) {
      const series: { labels: string; cell: Cell }[] = []
      register(head, () => series.map(({ labels, cell }) => writeCell(head.name, labels, cell)).join(''))
      return (values, cell) => void series.push({ labels: writeLabels(head, values), cell })
    },
    observe(head, read) {
      const line = (values: readonly string[], value: number) =>
        writeCell(head.name, writeLabels(head, values), { value })
      register(head, () => {
        const reading = read()
        return typeof reading === 'number'
          ? line([], reading)
          : Array.from(reading, ([values, value]) => line(values, value)).join('')
      })
    },
    text: () => [...metrics.values()].map(writeMetric).join(''),
  }
}

function meaningOf({ help, type, labelNames }: Head): string {
  return JSON.stringify([help, type, labelNames])
}

function writeMetric({ name, help, type, parts }: Metric): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  const series = [...parts.values()].map((write) => write()).join('')
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n${series}`
}

function writeCell(name: string, labels: string, cell: Cell): string {
  if ('value' in cell) return `${name}{${labels}} ${cell.value}\n`
  let total = 0
  const buckets = cell.counts.map((count, index) => {
    total += count
    return `${name}_bucket{${labels},le="${cell.bounds[index] ?? '+Inf'}"} ${total}\n`
  })
  return `${buckets.join('')}${name}_sum{${labels}} ${cell.sum}\n${name}_count{${labels}} ${total}\n`
}

function writeLabels({ service, labelNames }: Head, values: readonly string[]): string {
  const pairs = [['service', service], ...labelNames.map((name, index) => [name, values[index] ?? ''])]
  return pairs.map(([name, value]) => `${name}="${escapeLabel(value ?? '')}"`).join(',')
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
