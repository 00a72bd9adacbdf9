import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createDefaultConfig } from '@gateway/contracts/default-config'
import express, { type RequestHandler } from 'express'
import { expect, test } from 'vitest'
import type { EdgeContext } from '../edge-context.ts'
import { listModels, showCatalog } from './list-models.ts'

test('a retired tier leaves the list and the catalog', async () => {
  const { models } = createDefaultConfig()
  const current = {
    models: models.map((model) => (model.id === 'svc-fast' ? { ...model, sunsetAt: '2026-02-01' } : model)),
  }
  const edge = { config: { current } } as unknown as EdgeContext
  const app = express()
  app.get('/v1/catalog', showCatalog(edge) as unknown as RequestHandler)
  app.get('/v1/models', listModels(edge) as unknown as RequestHandler)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const path of ['/v1/catalog?view=tiers', '/v1/models']) {
    const { data } = (await (await fetch(url + path)).json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toContain('svc-core')
    expect(data.map(({ id }) => id)).not.toContain('svc-fast')
  }
  server.close()
  server.closeAllConnections()
})
