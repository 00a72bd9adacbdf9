/**
 * The address bar: it selects the page without a reload. State that has to outlive a reload and is no secret stays in the
 * history entry. The browser's storage stays empty.
 */

import { useMemo, useSyncExternalStore } from 'react'
import { BASE_PATH } from './read-config.ts'

export interface EntryState {
  /**
   * The person had signed in, so after a reload the page signs in again without a prompt. False: the identity provider knew nobody,
   * or the person signed out. Undefined: this is the first visit.
   */
  signedIn?: boolean
  colorScheme?: 'light' | 'dark' | 'auto'
}

/** Below the console's address, without a slash at its end: `''`, `/usage`. */
export function currentPath(): string {
  const { pathname } = window.location
  return pathname.startsWith(`${BASE_PATH}/`) ? pathname.slice(BASE_PATH.length).replace(/\/$/, '') : ''
}

/** With the query: `/organization/audit?type=project.created`. */
export function currentAddress(): string {
  return `${currentPath()}${window.location.search}`
}

/** The members of the query; a page that filters a list has its filters there. */
export function useQueryMembers(): Readonly<Record<string, string>> {
  const search = useSyncExternalStore(onNavigation, () => window.location.search)
  return useMemo(() => Object.fromEntries(new URLSearchParams(search)), [search])
}

/** Replaces members of the query, without a step back to the former ones; an empty text removes one. */
export function changeQuery(change: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(window.location.search)
  for (const [name, text] of Object.entries(change)) {
    if (text === '') query.delete(name)
    else query.set(name, text)
  }
  navigate(`${currentPath()}${query.size > 0 ? `?${query}` : ''}`, { replace: true })
}

export function entryState(): EntryState {
  const state: unknown = window.history.state
  return typeof state === 'object' && state !== null ? state : {}
}

export function navigate(
  path: string,
  { replace = false, state }: { replace?: boolean; state?: EntryState } = {},
): void {
  const entry = { ...entryState(), ...state }
  if (replace) window.history.replaceState(entry, '', addressOf(path))
  else window.history.pushState(entry, '', addressOf(path))
  // The browser sends this event only for its own steps back and forth.
  window.dispatchEvent(new PopStateEvent('popstate'))
}

/** Keeps the address and changes the state with it. */
export function keepState(state: EntryState): void {
  window.history.replaceState({ ...entryState(), ...state }, '')
}

export function addressOf(path: string): string {
  return `${BASE_PATH}${path}`
}

export function usePath(): string {
  return useSyncExternalStore(onNavigation, currentPath)
}

/** Calls the listener at every change of the address. Returns the function that removes the listener. */
export function onNavigation(listener: () => void): () => void {
  window.addEventListener('popstate', listener)
  return () => window.removeEventListener('popstate', listener)
}
