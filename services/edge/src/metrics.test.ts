import { createMetrics } from '@gateway/telemetry/metrics'
import { expect, test } from 'vitest'
import { edgeMetrics } from './metrics.ts'
import { MAX_REQUEST_MS } from './inference/infer.ts'

test.each([
  ['gateway_request_seconds', (tookMs: number) => measure().responseEnded('chat', 'svc-core', 'ok', tookMs)],
  ['gateway_time_to_first_token_seconds', (tookMs: number) => measure().firstToken('svc-core', tookMs)],
])('%s distinguishes the longest request that there can be from an endless one', (name, observe) => {
  observe(MAX_REQUEST_MS)
  const finite = page.text().matchAll(new RegExp(`^${name}_bucket.*le="([0-9.]+)"} 1$`, 'gm'))
  expect(Array.from(finite, ([, bound]) => Number(bound))).not.toEqual([])
})

let page: ReturnType<typeof createMetrics>
function measure() {
  page = createMetrics({ service: 'edge' })
  return edgeMetrics(page)
}
