/** Servers that write JSON by a library of Windows may put a byte order mark in front. It reaches no client. */

import { clientDialects, targetDialects } from '@gateway/contracts/vendors'
import { expect, test } from 'vitest'
import { routerOver } from './dialect-backends.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { TARGETS } from './target-fixtures.ts'
import { goodResponse, requestOf } from './well-behaved.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const marked = (value: object): string => `\uFEFF${JSON.stringify(value)}`

test.each(clientDialects.flatMap((client) => targetDialects.map((target) => [client, target] as const)))(
  'a client of %s reads the plain response of a %s backend',
  async (client, target) => {
    const { sendRequest } = await routerOver(client, [
      [target, (response) => response.writeHead(200, JSON_TYPE).end(marked(TARGETS[target].written.plain))],
    ])
    const job = await sendRequest(false)
    expect(job.failure).toBeNull()
    expect(JSON.parse(job.text())).toBeInstanceOf(Object)
  },
)

test.each(['embeddings', 'images'] as const)('so does a client of %s', async (kind) => {
  const a = await backend((response) => response.writeHead(200, JSON_TYPE).end(marked(goodResponse(kind))))
  const { header, body } = requestOf(kind)
  const job = await (await router(poolOver([a.url]))).sendRequest(header, body)
  expect(JSON.parse(job.text())).toMatchObject({ data: [{}] })
})

test.each([400, 500, 200])('an error with status %i keeps its meaning, for streams, too', async (status) => {
  const a = await backend((response) =>
    response.writeHead(status, JSON_TYPE).end(marked({ error: { message: 'no such role', code: 400 } })),
  )
  const under = await router(poolOver([a.url]))
  for (const stream of [false, true]) {
    const { failure } = await under.sendRequest({ stream })
    if (status === 500) expect(failure?.attempts[0]).toMatchObject({ outcome: 'http_500' })
    else
      expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendBody: expect.stringContaining('no such role') })
  }
})
