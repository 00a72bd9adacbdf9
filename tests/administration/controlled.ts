/**
 * A cluster whose operator takes the preferred backend out of use, and a client whose words mark its requests.
 */

import type OpenAI from 'openai'
import { expect } from 'vitest'
import { send, userMessages } from '../promises/gateway.ts'
import { type AdministeredCluster, adminClient, openAdministered } from './administered.ts'

/** The preferred one. */
export const BACKEND = 'steady-a'

export type ControlledCluster = Awaited<ReturnType<typeof openControlled>>

export async function openControlled(stack: AsyncDisposableStack, routers: number) {
  const administered: AdministeredCluster = await openAdministered(stack, { edges: 1, routers })
  const { gateway, cluster, admin, adminKey } = administered
  const { projects } = admin.admin.organization
  const { id } = await projects.create({ name: 'Search' })
  const { api_key: key } = await projects.serviceAccounts.create(id, { name: 'search' })
  const client: OpenAI = adminClient(gateway, key!.value)

  async function administer(method: 'GET' | 'POST', path = ''): Promise<Record<string, unknown>> {
    const { status, body } = await send(gateway.urls[0], `/admin/v1/backends${path}`, { method, key: adminKey })
    expect({ status, body }).toMatchObject({ status: 200 })
    return body
  }

  return {
    cluster,
    backend: gateway.backends.steadyA,
    client,
    showBackends: () => administer('GET'),
    control: (word: 'drain' | 'restore') => administer('POST', `/${BACKEND}/${word}`),
    chat: (words: string) =>
      client.chat.completions.create({ model: 'svc-instant', max_tokens: 5, messages: userMessages(`Say: ${words}`) }),
    /** The number of requests with these words that the backend received. */
    received: (words: string) =>
      gateway.backends.steadyA.calls.filter(({ body }) => JSON.stringify(body).includes(`Say: ${words}`)).length,
  }
}
