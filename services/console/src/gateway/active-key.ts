import type { KeyList, ListedKey } from './queries.ts'

export function activeKeyOf(keys: KeyList | undefined): ListedKey | undefined {
  return keys?.data.find(({ status }) => status === 'active')
}
