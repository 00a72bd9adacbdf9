/**
 * Who is signed in: authorization code with PKCE against the gateway's identity provider.
 *
 * The access token lives in this module's memory and nowhere else. `sessionStorage` holds the state and verifier of a
 * sign-in between leaving for the identity provider and coming back, and is empty before and after. A reload loses the
 * token, so the page asks the identity provider again, which needs no typing while its own session lasts.
 */

import type { ConsoleConfig } from '@gateway/contracts/console-config'
import { ErrorResponse, InMemoryWebStorage, UserManager, WebStorageStateStore, type User } from 'oidc-client-ts'
import type { Problem } from '../core/explain-problem.ts'
import { addressOf, currentPath, entryState, navigate, keepState, type EntryState } from '../navigation.ts'
import { explainSignIn } from './explain-sign-in.ts'

export type SessionState =
  /** On the way to the identity provider, or back from it. */
  | { kind: 'opening' }
  | { kind: 'signed-out'; problem: Problem | null }
  | { kind: 'signed-in'; name: string; ended: boolean }

export interface Session {
  readonly state: SessionState
  /** Of the account that signed in; empty when nobody is. */
  readonly token: string
  subscribe(listener: () => void): () => void
  /** Goes to the identity provider and comes back to the page that is shown. */
  signIn(): Promise<void>
  signOut(): Promise<void>
  /** The gateway does not take the token any more. */
  end(): void
}

/** What a sign-in brings back besides the person. */
interface Errand {
  path: string
  entry: EntryState
}

const CALLBACK = '/callback'
/** Timers of browsers hold no more. */
const MAX_TIMER_MS = 2 ** 31 - 1

export function openSession({ consoleUrl, signIn: provider }: ConsoleConfig): Session {
  let state: SessionState = { kind: 'opening' }
  let user: User | null = null
  let expiry: ReturnType<typeof setTimeout> | undefined
  const listeners = new Set<() => void>()
  const manager = provider && createManager(provider, consoleUrl)

  function become(next: SessionState): void {
    state = next
    for (const listener of listeners) listener()
  }

  function end(): void {
    if (state.kind === 'signed-in' && !state.ended) become({ ...state, ended: true })
  }

  function enter(signedIn: User): void {
    user = signedIn
    clearTimeout(expiry)
    expiry = setTimeout(end, Math.min(MAX_TIMER_MS, Math.max(0, (signedIn.expires_in ?? 3_600) * 1_000)))
    keepState({ signedIn: true })
    become({ kind: 'signed-in', name: nameOf(signedIn), ended: false })
  }

  function leave(problem: Problem | null): void {
    user = null
    clearTimeout(expiry)
    keepState({ signedIn: false })
    become({ kind: 'signed-out', problem })
  }

  async function goToProvider(prompt?: 'none'): Promise<void> {
    const errand: Errand = { path: currentPath(), entry: entryState() }
    await manager?.signinRedirect({ state: errand, ...(prompt && { prompt }) })
  }

  async function comeBack(): Promise<void> {
    const query = window.location.search
    try {
      const signedIn = await manager!.signinRedirectCallback(window.location.href)
      const errand = signedIn.state as Errand
      navigate(errand.path, { replace: true, state: errand.entry })
      enter(signedIn)
    } catch (error) {
      navigate('', { replace: true })
      // Asked without a page, the identity provider knows nobody: not a failure.
      const isNobody = error instanceof ErrorResponse && error.error === 'login_required'
      leave(isNobody || query === '' ? null : explainSignIn(error))
    }
  }

  async function open(): Promise<void> {
    if (!manager) return become({ kind: 'signed-out', problem: null })
    await manager.clearStaleState()
    if (currentPath() === CALLBACK) return comeBack()
    if (!entryState().signedIn) return become({ kind: 'signed-out', problem: null })
    await goToProvider('none').catch((error: unknown) => leave(explainSignIn(error)))
  }

  void open()
  return {
    get state() {
      return state
    },
    get token() {
      return user?.access_token ?? ''
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async signIn() {
      const before = state
      become(state.kind === 'signed-in' ? state : { kind: 'opening' })
      await goToProvider().catch((error: unknown) => {
        if (before.kind === 'signed-in') become(before)
        else leave(explainSignIn(error))
      })
    },
    async signOut() {
      const idToken = user?.id_token
      navigate('', { replace: true })
      leave(null)
      // Some providers have no such endpoint and keep their own session. Either way the page is left, and with it all
      // that it held of the person.
      await manager
        ?.signoutRedirect({ ...(idToken && { id_token_hint: idToken }) })
        .catch(() => window.location.reload())
    },
    end,
  }
}

function createManager(provider: NonNullable<ConsoleConfig['signIn']>, consoleUrl: string): UserManager {
  return new UserManager({
    authority: provider.issuer,
    client_id: provider.clientId,
    scope: provider.scope,
    extraQueryParams: { audience: provider.audience },
    redirect_uri: new URL(addressOf(CALLBACK), consoleUrl).href,
    post_logout_redirect_uri: consoleUrl,
    userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
    stateStore: new WebStorageStateStore({ store: window.sessionStorage }),
    automaticSilentRenew: false,
    monitorSession: false,
    requestTimeoutInSeconds: 15,
  })
}

function nameOf({ profile }: User): string {
  return profile.name ?? profile.preferred_username ?? profile.email ?? profile.sub
}
