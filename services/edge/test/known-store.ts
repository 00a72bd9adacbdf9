/** An admission store that knows one account with one live key, and that has used nothing this month. */

import { openMemoryAdmission } from '@gateway/admission/memory'

export type KnownStore = ReturnType<typeof openMemoryAdmission>

export async function knownStore(account: string, keyHash: string): Promise<KnownStore> {
  const store = openMemoryAdmission()
  const keys = [{ keyHash, version: 1, active: true }]
  await store.fill({ account, version: 1, plan: 'free', overage: false, extra: 0, keys })
  const { window } = await store.currentWindow()
  await store.warm({ account, window, settled: 0, version: 0 })
  return store
}
