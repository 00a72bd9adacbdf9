import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { type Step, takeSteps } from './take-steps.ts'

/** What a client is told by these steps; failures are told by their message. */
async function take(...steps: Step[]): Promise<string> {
  const way = takeSteps('/way', steps, (error, _request, response) => void response.end(`failed: ${String(error)}`))
  const server = createServer(way).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  server.closeAllConnections()
  server.close()
  return answer.text()
}

const tell: Step = (_request, response) => void response.end(JSON.stringify(response.locals))
const later = () => new Promise((resolve) => setImmediate(resolve))

test('steps are taken in turn, and tell those behind them what they found', async () => {
  const first: Step = (_request, response, next) => {
    response.locals['first'] = 1
    next()
  }
  const second: Step = async (_request, response, next) => {
    await later()
    response.locals['second'] = response.locals['first']
    next()
  }
  expect(await take(first, second, tell)).toBe('{"endpoint":"/way","first":1,"second":1}')
})

test.each<[string, Step]>([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  [
    'rejects',
    async () => {
      await later()
      throw new Error('no')
    },
  ],
  ['hands on an error', (_request, _response, next) => next(new Error('no'))],
])('a step that %s ends the way, and is told of once', async (_how, step) => {
  const before: Step = (_request, _response, next) => next()
  const unreachable: Step = (_request, response) => void response.end('reached')
  expect(await take(before, step, unreachable)).toBe('failed: Error: no')
})
