/**
 * The session of the person who signed in: authorization code with PKCE against the gateway's identity provider.
 *
 * The access token lives in this module's memory and nowhere else. Only during a sign-in does `sessionStorage` hold
 * anything: the state and verifier, and the work of an ended session. A reload loses the token, so the page signs in again,
 * without a prompt while the provider's own session lasts. So does the first visit by an address. The page tries once: its history
 * entry keeps the outcome. A sign-out in one tab signs out all, and the page that follows tries nothing.
 */

import type { ConsoleConfig } from '@gateway/contracts/console-config'
import { ErrorResponse, InMemoryWebStorage, UserManager, WebStorageStateStore, type User } from 'oidc-client-ts'
import type { Problem } from '../core/explain-problem.ts'
import {
  addressOf,
  currentAddress,
  currentPath,
  entryState,
  navigate,
  keepState,
  type EntryState,
} from '../navigation.ts'
import { explainSignIn } from './explain-sign-in.ts'
import { collectWork, restoreWork } from './keep-over-sign-in.ts'

export type SessionState =
  /** On the way to the identity provider, or back from it. */
  | { kind: 'opening' }
  | { kind: 'signed-out'; problem: Problem | null }
  | { kind: 'signed-in'; name: string; end: SessionEnd | null }

/** `refused`: the gateway has never accepted the token, and another sign-in would bring another such token. */
export type SessionEnd = 'over' | 'refused'

export interface Session {
  readonly state: SessionState
  /** The access token; empty while nobody is signed in. */
  readonly token: string
  subscribe(listener: () => void): () => void
  /** Goes to the identity provider and comes back to the page that is shown. */
  signIn(): Promise<void>
  signOut(): Promise<void>
  /** The gateway accepted the token. */
  tokenAccepted(): void
  /** The gateway refused the token: it never accepted it, or accepts it no longer. */
  end(): void
}

/** The state that a sign-in carries to the identity provider and back. */
interface RedirectState {
  path: string
  entry: EntryState
  /** The work of a person whose session has ended. */
  left?: { subject: string; kept: unknown }
}

/** The errors of a provider that needs to show a page, which `prompt=none` forbids. */
const NOBODY = ['login_required', 'interaction_required', 'consent_required', 'account_selection_required']
/** A tab that signs out notifies the others here. */
const CHANNEL = 'gateway-console'
const CALLBACK = '/callback'
/** The `state` of a sign-out, which the identity provider returns. */
const SIGNED_OUT = 'signed-out'
/** After this time a first visitor sees the sign-in page, also where the identity provider is slow. */
const SILENT_FOR_MS = 4_000
/** The longest delay of a browser's timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

export function openSession({ consoleUrl, signIn: provider }: ConsoleConfig): Session {
  let state: SessionState = { kind: 'opening' }
  let user: User | null = null
  let wasAccepted = false
  let expiry: ReturnType<typeof setTimeout> | undefined
  const listeners = new Set<() => void>()
  const manager = provider && createManager(provider, consoleUrl)
  const tabs = new BroadcastChannel(CHANNEL)

  function become(next: SessionState): void {
    state = next
    for (const listener of listeners) listener()
  }

  function end(how: SessionEnd): void {
    if (state.kind === 'signed-in' && state.end === null) become({ ...state, end: how })
  }

  function enter(signedIn: User): void {
    user = signedIn
    clearTimeout(expiry)
    expiry = setTimeout(() => end('over'), Math.min(MAX_TIMER_MS, Math.max(0, (signedIn.expires_in ?? 3_600) * 1_000)))
    keepState({ signedIn: true })
    become({ kind: 'signed-in', name: nameOf(signedIn), end: null })
  }

  function leave(problem: Problem | null): void {
    user = null
    clearTimeout(expiry)
    keepState({ signedIn: false })
    become({ kind: 'signed-out', problem })
  }

  async function goToProvider(prompt?: 'none'): Promise<void> {
    const left = user ? { subject: user.profile.sub, kept: collectWork() } : undefined
    const redirect: RedirectState = { path: currentAddress(), entry: entryState(), ...(left && { left }) }
    await manager?.signinRedirect({ state: redirect, ...(prompt && { prompt }) })
  }

  async function comeBack(): Promise<void> {
    const query = window.location.search
    try {
      const signedIn = await manager!.signinRedirectCallback(window.location.href)
      const redirect = signedIn.state as RedirectState
      if (redirect.left?.subject === signedIn.profile.sub) restoreWork(redirect.left.kept)
      navigate(redirect.path, { replace: true, state: redirect.entry })
      enter(signedIn)
    } catch (error) {
      void manager!.clearStaleState()
      // Without a session at the identity provider, `prompt=none` ends with these errors: nothing failed.
      const isNobody = error instanceof ErrorResponse && NOBODY.includes(error.error ?? '')
      const before = isNobody ? (error.state as RedirectState | undefined) : undefined
      navigate(before?.path ?? '', { replace: true, ...(before && { state: before.entry }) })
      leave(isNobody || query === '' ? null : explainSignIn(error))
    }
  }

  /** The first visit: the identity provider may know the person. No failure of this attempt is shown. */
  async function tryProvider(): Promise<void> {
    const timer = setTimeout(() => leaveOpening(), SILENT_FOR_MS)
    // The sign-in reads these again, from the manager's memory.
    const isThere = await manager!.metadataService.getMetadata().then(
      () => true,
      () => false,
    )
    if (state.kind !== 'opening') return
    if (isThere) return goToProvider('none').catch(leaveOpening)
    clearTimeout(timer)
    leaveOpening()
  }

  function leaveOpening(): void {
    if (state.kind === 'opening') leave(null)
  }

  async function giveUp(): Promise<void> {
    await manager?.clearStaleState()
    leaveOpening()
  }

  async function open(): Promise<void> {
    if (!manager) return become({ kind: 'signed-out', problem: null })
    if (currentPath() === CALLBACK) return comeBack()
    // Removes the state of a sign-in that the person gave up.
    await manager.clearStaleState()
    if (new URLSearchParams(window.location.search).get('state') === SIGNED_OUT) {
      navigate('', { replace: true })
      return leave(null)
    }
    const { signedIn } = entryState()
    if (signedIn === undefined) return tryProvider()
    if (!signedIn) return become({ kind: 'signed-out', problem: null })
    await goToProvider('none').catch((error: unknown) => leave(explainSignIn(error)))
  }

  /** A reload drops all that the page held of the person. */
  tabs.addEventListener('message', ({ data }) => {
    if (user === null || data !== user.profile.sub) return
    navigate('', { replace: true })
    leave(null)
    window.location.reload()
  })
  // Back from the identity provider without a response, the browser may show this page from its cache.
  window.addEventListener('pageshow', ({ persisted }) => persisted && void giveUp())
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
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has one origin
      if (user) tabs.postMessage(user.profile.sub)
      navigate('', { replace: true })
      leave(null)
      // Some providers have no such endpoint and keep their own session. Either way the browser leaves the page, and
      // with it all that the page held of the person.
      await manager
        ?.signoutRedirect({ extraQueryParams: { state: SIGNED_OUT }, ...(idToken && { id_token_hint: idToken }) })
        .catch(() => window.location.reload())
    },
    tokenAccepted() {
      wasAccepted = true
    },
    end: () => end(wasAccepted ? 'over' : 'refused'),
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
    staleStateAgeInSeconds: 0,
    automaticSilentRenew: false,
    monitorSession: false,
    requestTimeoutInSeconds: 15,
  })
}

function nameOf({ profile }: User): string {
  return profile.name ?? profile.preferred_username ?? profile.email ?? profile.sub
}
