/**
 * Where the provider keeps sessions, codes and grants: in memory, each for its own time. A restart signs everybody out;
 * access tokens, which are JWTs, outlive it.
 */

import type { Adapter, AdapterPayload } from 'oidc-provider'

const MAX_ENTRIES = 10_000

export function memoryAdapters(): (model: string) => Adapter {
  const entries = new Map<string, { payload: AdapterPayload; expiresAtMs: number }>()
  return (model) => {
    const keyOf = (id: string) => `${model}:${id}`

    function find(matches: (payload: AdapterPayload) => boolean, id?: string): AdapterPayload | undefined {
      const candidates = id === undefined ? [...entries] : [[keyOf(id), entries.get(keyOf(id))] as const]
      for (const [key, entry] of candidates) {
        if (!entry || !key.startsWith(`${model}:`)) continue
        if (entry.expiresAtMs <= Date.now()) entries.delete(key)
        else if (matches(entry.payload)) return entry.payload
      }
      return undefined
    }

    return {
      async upsert(id, payload, expiresInS) {
        const oldest = entries.keys().next().value
        if (entries.size >= MAX_ENTRIES && oldest !== undefined) entries.delete(oldest)
        entries.set(keyOf(id), { payload, expiresAtMs: expiresInS ? Date.now() + expiresInS * 1000 : Infinity })
      },
      find: async (id) => find(() => true, id),
      findByUid: async (uid) => find((payload) => payload.uid === uid),
      findByUserCode: async (userCode) => find((payload) => payload.userCode === userCode),
      async consume(id) {
        const entry = entries.get(keyOf(id))
        if (entry) entry.payload.consumed = Math.floor(Date.now() / 1000)
      },
      destroy: async (id) => void entries.delete(keyOf(id)),
      async revokeByGrantId(grantId) {
        for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key)
      },
    }
  }
}
