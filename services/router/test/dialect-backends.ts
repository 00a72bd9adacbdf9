/** The same response from backends of every dialect, and a client in front of them. */

import type { JobHeader } from '@gateway/contracts/job'
import type { ClientDialect, TargetDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import type { FakeJob } from './fake-job.ts'
import { openStream, sendJson, type Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { TARGETS } from './target-fixtures.ts'

export function good(dialect: TargetDialect): Reply {
  const { plain, complete } = TARGETS[dialect].written
  return (response, { body }) => {
    if (body['stream'] !== true) return sendJson(response, 200, plain)
    openStream(response)
    response.end(complete)
  }
}

export function broken(dialect: TargetDialect, after: 'role' | 'content'): Reply {
  const { written } = TARGETS[dialect]
  return (response, { body }, socket) => {
    if (body['stream'] !== true) return response.end(JSON.stringify(written.plain).slice(0, 40))
    openStream(response)
    response.write(written[after], () => setTimeout(() => socket.destroy(), 20))
  }
}

export async function routerOver(
  client: ClientDialect,
  backends: [dialect: TargetDialect, reply: Reply][],
  areEqual = false,
) {
  const opened = await Promise.all(backends.map(([, reply]) => backend(reply)))
  const settings = backends.map(([dialect]) => ({
    dialect: dialect === 'messages' ? 'anthropic' : 'openai',
    dialects: [dialect],
    headers: { 'anthropic-beta': 'ours' },
  }))
  const targets = areEqual ? backends.map(() => ({ priority: 1 })) : []
  const urls = opened.map(({ url }) => url)
  const running = await router(poolOver(urls, { backends: settings, targets }))
  const fixture = CLIENTS[client]
  const sendRequest = (stream: boolean, body: object = {}, headerChanges: Partial<JobHeader> = {}) =>
    running.sendRequest(
      { dialect: client, includeUsage: true, ...fixture.jobHeader, stream, ...headerChanges },
      { ...fixture.body('Say hello', 50), ...body },
    )
  return { opened, sendRequest }
}

export interface StreamEvent {
  type: string
  sequence_number?: number
  usage?: object
  response?: { usage?: object }
}

export function eventsOf(job: FakeJob): StreamEvent[] {
  const blocks = job
    .text()
    .split('\n\n')
    .filter((block) => block !== '')
  return blocks.map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 6)) as StreamEvent)
}
