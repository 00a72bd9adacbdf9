import { useKeys, type KeyList, type ListedKey } from './queries.ts'

export function activeKeyOf(keys: KeyList | undefined): ListedKey | undefined {
  return keys?.data.find(({ status }) => status === 'active')
}

export function useActiveKey(): ListedKey | undefined {
  return activeKeyOf(useKeys().data)
}
