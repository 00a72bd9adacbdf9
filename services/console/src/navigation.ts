/**
 * The address bar: it selects the page without a reload. State that has to outlive a reload and is no secret stays in the
 * history entry. The browser's storage stays empty.
 */

import { useSyncExternalStore } from 'react'
import { BASE_PATH } from './read-config.ts'

export interface EntryState {
  /** The person had signed in. After a reload the page first tries the identity provider without a prompt. */
  signedIn?: boolean
  colorScheme?: 'light' | 'dark' | 'auto'
}

/** Below the console's address, without a slash at its end: `''`, `/usage`. */
export function currentPath(): string {
  const { pathname } = window.location
  return pathname.startsWith(`${BASE_PATH}/`) ? pathname.slice(BASE_PATH.length).replace(/\/$/, '') : ''
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
