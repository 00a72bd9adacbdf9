/**
 * A request takes time in proportion to its bytes, for all kinds of content. Each kind of item is there in thousands,
 * once and twice as often, on the way from each client's dialect to each target's.
 */

import { describe, expect, test } from 'vitest'
import { type ClientDialect, clientDialects, targetDialects } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { cpuGrowth, LINEAR_BELOW, type Make } from '@gateway/testing/cpu-growth'
import { BackendFault } from '../src/core/backend-fault.ts'
import { sealInId, sealMarked } from '../src/core/reasoning-state.ts'
import { AccountSeal, deriveStateKeys } from '../src/core/state-seal.ts'
import type { StateSeal } from '../src/core/state-seal.ts'
import type { ClientRequest } from '../src/dialects/dialect.ts'
import { compactionRoute, dialectRoute } from '../src/dialects/dialects.ts'
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

const compactions = targetDialects.map((target) => {
  const { dialect } = compactionRoute('endpoint', [target], false)
  return { client: 'responses' as const, target: `a summary by ${target}`, dialect }
})
const STATES: StateSeal = { seal: (_, plaintext) => plaintext, open: () => null }

describe.each([...dialectPairs, ...compactions])('$client to $target', ({ client, dialect }) => {
  test.each(Object.entries(CLIENTS[client].manyInRequest))('twice as many %s take twice the time', (_, make) => {
    for (const target of TARGETS) {
      const growth = cpuGrowth(ITEMS, (count) => {
        const body = Buffer.from(JSON.stringify(make(count)))
        return () => {
          try {
            const request = { kind: 'chat' as const, body, stream: true, maxTokens: undefined, states: STATES }
            dialect.request({ ...(target as ClientRequest), ...request })
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

const KEYS = deriveStateKeys({ secrets: [{ masterKeyId: '0123456789ab', secret: 'AAAAAAAAAAAAAAAA' }] })
const kept = { states: new AccountSeal(() => KEYS, 'acc'), stateKind: 'own' }
const THOUGHT = sealMarked(kept, { type: 'thinking', thinking: 'x', signature: 'c2ln' })!
const CALL = sealInId(kept, 'call_1', [{ kind: 'own', value: { on: 'call', extra_content: {} }, text: 0, calls: 0 }])!
const SAID = { role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }

/** A client may send one state thousands of times. Those that are left out keep none. */
const MANY_STATES: Partial<Record<ClientDialect, Make>> = {
  chat: (count) => {
    const call = { id: CALL, type: 'function', function: { name: 'look', arguments: '{}' } }
    return { messages: [{ role: 'assistant', content: 'x', tool_calls: Array.from({ length: count }, () => call) }] }
  },
  responses: (count) => {
    const thought = { type: 'reasoning', summary: [], encrypted_content: THOUGHT }
    return { input: Array.from({ length: count }, () => [thought, SAID]).flat() }
  },
  messages: (count) => {
    const blocks = [
      { type: 'redacted_thinking', data: THOUGHT },
      { type: 'text', text: 'x' },
    ]
    const content = Array.from({ length: count }, () => blocks).flat()
    return { max_tokens: 9, messages: [{ role: 'assistant', content }] }
  },
}

const keepers = dialectPairs.filter(({ client }) => MANY_STATES[client] !== undefined)

test.each(keepers)('twice as many states of a $client client take twice the time at $target', (pair) => {
  const openRouter = { profile: VENDOR_PROFILES.openrouter, model: 'm', form: [] }
  for (const target of [TARGETS[0], openRouter]) {
    const growth = cpuGrowth(ITEMS / 4, (count) => {
      const body = Buffer.from(JSON.stringify(MANY_STATES[pair.client]!(count)))
      const request = { ...(target as ClientRequest), ...kept, kind: 'chat' as const, body, stream: true }
      return () => void pair.dialect.request({ ...request, maxTokens: undefined })
    })
    expect(growth).toBeLessThan(LINEAR_BELOW)
  }
})
