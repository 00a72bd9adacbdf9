import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createLogger } from './logger.ts'
import { openTracing } from './open-tracing.ts'

test('the log reports a collector that takes nothing once, and once more when it takes spans again', async () => {
  let status = 404
  let exports = 0
  const collector = createServer((request, response) => {
    exports++
    request.resume()
    response.writeHead(status).end()
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>)
  const logger = createLogger({ service: 'edge', level: 'info', output: { write } })
  {
    await using tracing = await openTracing('edge', { endpoint, sampler: 'always_on', ratio: 1 }, logger)
    const exportOne = async () => {
      const before = exports
      tracing.enter('POST', { parent: undefined }).end()
      await expect.poll(() => exports).toBe(before + 1)
    }
    await exportOne()
    await exportOne()
    status = 200
    await exportOne()
  }
  expect(lines).toMatchObject([
    { level: 'warn', endpoint, msg: expect.stringContaining('does not take traces') },
    { level: 'info', endpoint, msg: expect.stringContaining('again') },
  ])
  collector.close()
})

/** For each chunk of a trace id that samplers by ratio compare: the lowest, the highest, and one that repeats. */
test.each(['00000000000000000000000000000001', 'ffffffffffffffffffffffffffffffff', '00000001000000010000000100000001'])(
  'a client that chooses the trace id %s does not choose whether it is traced',
  async (traceId) => {
    const collector = createServer((request, response) => {
      request.resume().on('end', () => response.end())
    }).listen(0, '127.0.0.1')
    await once(collector, 'listening')
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
    {
      await using tracing = await openTracing('edge', { endpoint, sampler: 'traceidratio', ratio: 0.1 })
      let recorded = 0
      for (let count = 0; count < 1_000; count++) {
        const span = tracing.enter('POST', { parent: `00-${traceId}-00000000000000aa-01` })
        if (span.isRecorded) recorded++
        span.end()
      }
      expect(recorded).toBeGreaterThan(0)
      expect(recorded).toBeLessThan(400)
    }
    collector.close()
  },
)
