/**
 * A request takes time in proportion to its bytes, for all kinds of content. Each kind of item is there in thousands,
 * once and twice as often, on the way from each client's dialect to each target's.
 */

import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { cpuGrowth, LINEAR_BELOW } from '@gateway/testing/cpu-growth'
import { BackendFault } from '../src/core/backend-fault.ts'
import type { ClientRequest } from '../src/dialects/dialect.ts'
import { dialectRoute } from '../src/dialects/dialects.ts'
import { VENDOR_PROFILES } from '../src/vendors/index.ts'
import { policiesFor } from '../src/vendors/policies.ts'

/** Rules of some vendors read a request once more. */
const TARGETS: Partial<ClientRequest>[] = [
  { model: 'm', form: [] },
  {
    profile: VENDOR_PROFILES.mistral,
    model: 'm',
    form: [{ parameter: 'developer' }, { parameter: 'max_completion_tokens' }, { parameter: 'temperature' }],
    policy: policiesFor(VENDOR_PROFILES.vllm, 'm', { allowParameters: [] }).chat,
  },
  { profile: VENDOR_PROFILES.gemini, model: 'gemini-3-pro', form: [{ parameter: 'system' }] },
]

const ITEMS = 10_000

const dialectPairs = clientDialects.flatMap((client) =>
  targetDialects.flatMap((target) => {
    const route = dialectRoute(client, [target])
    return route ? [{ client, target, dialect: route.dialect }] : []
  }),
)

describe.each(dialectPairs)('$client to $target', ({ client, dialect }) => {
  test.each(Object.entries(CLIENTS[client].manyInRequest))('twice as many %s take twice the time', (_, make) => {
    for (const target of TARGETS) {
      const growth = cpuGrowth(ITEMS, (count) => {
        const body = Buffer.from(JSON.stringify(make(count)))
        return () => {
          try {
            dialect.request({ ...(target as ClientRequest), kind: 'chat', body, stream: true, maxTokens: undefined })
          } catch (error) {
            // A request may be refused, and soon.
            if (!(error instanceof BackendFault)) throw error
          }
        }
      })
      expect(growth).toBeLessThan(LINEAR_BELOW)
    }
  })
})
