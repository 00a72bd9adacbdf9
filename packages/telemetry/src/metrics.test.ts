import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createMetrics, MAX_SERIES } from './metrics.ts'
import { createProcessMetrics } from './process-metrics.ts'

/** The lines of one metric. */
function linesOf(text: string, name: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(name) || line.startsWith(`# HELP ${name} `))
}

describe('the counts of a process are written as Prometheus text', () => {
  test('a counter by its labels', () => {
    const metrics = createMetrics({ service: 'edge' })
    const requests = metrics.counter('gateway_requests_total', 'Requests answered', ['route', 'status'])
    requests.labels('chat', '200').add()
    requests.labels('chat', '200').add(2)
    requests.labels('chat', '429').add()
    expect(linesOf(metrics.text(), 'gateway_requests_total')).toEqual([
      '# HELP gateway_requests_total Requests answered',
      'gateway_requests_total{service="edge",route="chat",status="200"} 3',
      'gateway_requests_total{service="edge",route="chat",status="429"} 1',
    ])
  })

  test('a gauge that is set, moved, or read at each scrape', () => {
    const metrics = createMetrics({ service: 'router' })
    const running = metrics.gauge('gateway_jobs', 'Jobs under way').labels()
    let waiting = 1
    metrics.observedGauge('gateway_waiting', 'Jobs that wait', () => waiting)
    running.set(5)
    running.add(-2)
    waiting = 7
    expect(metrics.text()).toContain('gateway_jobs{service="router"} 3\n')
    expect(metrics.text()).toContain('gateway_waiting{service="router"} 7\n')
  })

  test('a histogram with cumulative buckets; a value on a bound belongs to it', () => {
    const metrics = createMetrics({ service: 'edge' })
    const seconds = metrics.histogram('gateway_seconds', 'Duration', [0.1, 1]).labels()
    for (const value of [0.05, 0.1, 0.5, 3]) seconds.observe(value)
    expect(linesOf(metrics.text(), 'gateway_seconds')).toEqual([
      '# HELP gateway_seconds Duration',
      'gateway_seconds_bucket{service="edge",le="0.1"} 2',
      'gateway_seconds_bucket{service="edge",le="1"} 3',
      'gateway_seconds_bucket{service="edge",le="+Inf"} 4',
      'gateway_seconds_sum{service="edge"} 3.65',
      'gateway_seconds_count{service="edge"} 4',
    ])
  })

  test('a histogram whose sum never falls, though a time between two clocks may be below zero', () => {
    const metrics = createMetrics({ service: 'metering' })
    const seconds = metrics.histogram('gateway_seconds', 'Duration', [0.1, 1]).labels()
    for (const value of [0.5, -2]) seconds.observe(value)
    expect(linesOf(metrics.text(), 'gateway_seconds')).toEqual(
      expect.arrayContaining([
        'gateway_seconds_bucket{service="metering",le="0.1"} 1',
        'gateway_seconds_sum{service="metering"} 0.5',
        'gateway_seconds_count{service="metering"} 2',
      ]),
    )
  })

  test('quotes, line breaks and backslashes in a label do not break the text', () => {
    const metrics = createMetrics({ service: 'edge' })
    metrics.counter('a_total', 'A', ['model']).labels('a"b\\c\nd').add()
    expect(metrics.text()).toContain('a_total{service="edge",model="a\\"b\\\\c\\nd"} 1\n')
  })

  test('the process reports its memory, CPU time and event loop', () => {
    const text = createProcessMetrics({ service: 'edge' }).text()
    expect(Number(/^process_resident_memory_bytes\{.*\} (.+)$/m.exec(text)?.[1])).toBeGreaterThan(1e6)
    expect(Number(/^process_cpu_seconds_total\{.*\} (.+)$/m.exec(text)?.[1])).toBeGreaterThan(0)
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds\{service="edge"\} [\d.e-]+$/m)
  })

  test('the lag of the event loop is the length of its turns, however long it had nothing to do between them', async () => {
    const metrics = createProcessMetrics({ service: 'edge' })
    const lag = () => Number(/^nodejs_eventloop_lag_p99_seconds\{.*\} (.+)$/m.exec(metrics.text())![1])
    await sleep(3_000)
    expect(lag()).toBeLessThan(2.9)
    const untilMs = performance.now() + 1_000
    while (performance.now() < untilMs);
    await sleep(10)
    expect(lag()).toBeGreaterThan(0.99)
  })
})

test('labels that come from outside cannot fill the memory: the rest is counted under other', () => {
  const metrics = createMetrics({ service: 'edge' })
  const requests = metrics.counter('a_total', 'A', ['model'])
  for (let i = 0; i < MAX_SERIES + 500; i++) requests.labels(`model-${i}`).add()
  requests.labels('model-0').add()
  const lines = linesOf(metrics.text(), 'a_total{')
  expect(lines).toHaveLength(MAX_SERIES + 1)
  expect(lines).toContain('a_total{service="edge",model="other"} 500')
  expect(lines).toContain('a_total{service="edge",model="model-0"} 2')
})

test('mistakes of the programmer are refused at once', () => {
  const metrics = createMetrics({ service: 'edge' })
  const requests = metrics.counter('a_total', 'A', ['model'])
  expect(() => metrics.counter('a_total', 'A')).toThrow('exists already')
  expect(() => metrics.gauge('Bad-Name', 'A')).toThrow('not a metric name')
  expect(() => requests.labels()).toThrow('takes 1 labels')
})

describe('several services in one process', () => {
  test('count under the same names, distinguished by their label, below one description', () => {
    const metrics = createMetrics({ service: 'standalone' })
    for (const service of ['edge', 'router']) metrics.of(service).counter('a_total', 'A', ['b']).labels('c').add()
    expect(linesOf(metrics.text(), 'a_total')).toEqual([
      '# HELP a_total A',
      'a_total{service="edge",b="c"} 1',
      'a_total{service="router",b="c"} 1',
    ])
  })

  test('cannot mean different things by one name', () => {
    const metrics = createMetrics({ service: 'standalone' })
    metrics.of('edge').counter('a_total', 'A', ['b'])
    expect(() => metrics.of('router').counter('a_total', 'A', ['c'])).toThrow('means something else')
    expect(() => metrics.of('edge').counter('a_total', 'A', ['b'])).toThrow('exists already')
  })
})

test('an observed metric may have a series for each label', () => {
  const metrics = createMetrics({ service: 'router' })
  const targets = new Map([['spark', 2]])
  metrics.observedGauge('targets', 'T', () => Array.from(targets, ([pool, count]) => [[pool], count] as const), [
    'pool',
  ])
  targets.set('nova', 1)
  expect(linesOf(metrics.text(), 'targets{')).toEqual([
    'targets{service="router",pool="spark"} 2',
    'targets{service="router",pool="nova"} 1',
  ])
})
