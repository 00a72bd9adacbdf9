/**
 * The frame around every page of a person who signed in: the navigation, and the dialog at the end of a session.
 */

import { Button, Modal, Skeleton } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { Component, Suspense, useEffect, useState, type MouseEvent, type ReactNode } from 'react'
import { useRightsQuery } from '../gateway/administration.ts'
import { createQueryClient } from '../gateway/queries.ts'
import { useConfig } from '../gateway/use-caller.ts'
import { usePath } from '../navigation.ts'
import { PageParametersContext } from '../page-parameters.ts'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { useSession, useSessionState } from '../session/use-session.ts'
import { Navigation } from './navigation.tsx'
import { fetchPages, ORGANIZATION_PAGES, pageAt } from './pages.ts'
import classes from './shell.module.css'

/** Moves the focus without a new address: its history entry would lack the sign-in and the colour scheme. */
function skip(event: MouseEvent): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

export default function Shell() {
  const [client] = useState(createQueryClient)
  return (
    <QueryClientProvider client={client}>
      <Frame />
      <SessionEnded />
    </QueryClientProvider>
  )
}

function Frame() {
  const path = usePath()
  const { page, parameters } = pageAt(path)
  const rights = useRightsQuery()
  const role = rights.data?.role ?? null
  useEffect(() => void fetchPages(role), [role])
  const needsRole = role === null && ORGANIZATION_PAGES.includes(page)
  return (
    <PageParametersContext value={parameters}>
      <a href="#content" className="skip-link" onClick={skip}>
        Skip to the page
      </a>
      <div className={classes.frame}>
        <Navigation current={page} />
        <main id="content" tabIndex={-1} className={classes.content}>
          <PageBoundary key={path}>
            <Suspense fallback={<PageSkeleton />}>
              {needsRole ? <Closed isKnown={!rights.isPending} /> : <page.Page />}
            </Suspense>
          </PageBoundary>
        </main>
      </div>
    </PageParametersContext>
  )
}

/** An address of the organization's part: a person without a role there makes none of its calls. */
function Closed({ isKnown }: { isKnown: boolean }) {
  if (!isKnown) return <PageSkeleton />
  return (
    <ProblemNotice
      problem={{
        title: 'This page is for those who run the gateway',
        advice: 'Your sign-in has no role in the organization. Its owner gives roles at the identity provider.',
        code: 'FORBIDDEN',
        mayPass: false,
      }}
    />
  )
}

/** Explains a page that failed to load, and leaves the others reachable. */
class PageBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true }
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children
    return (
      <ProblemNotice
        problem={{
          title: 'This page could not be loaded',
          advice: 'The gateway does not respond, or was updated since this tab was opened. Reload the console.',
          code: 'PAGE_FAILED',
          mayPass: true,
        }}
        action={<Button onClick={() => window.location.reload()}>Reload</Button>}
      />
    )
  }
}

/** The placeholder while a page's code loads. */
function PageSkeleton() {
  return (
    <div aria-busy="true">
      <Skeleton height={34} width={180} mb={30} />
      <Skeleton height={220} radius="lg" />
    </div>
  )
}

/** Covers the current page, which the person sees again after signing in. */
function SessionEnded() {
  const session = useSession()
  const state = useSessionState()
  const { signIn } = useConfig()
  const end = state.kind === 'signed-in' ? state.end : null
  return (
    <Modal
      opened={end !== null}
      onClose={() => undefined}
      title={end === 'refused' ? 'The gateway refuses your sign-in' : 'Your session has ended'}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      {end === 'refused' ? (
        <p>
          The identity provider signed you in, and the gateway does not take the access token that it gave. Contact your
          operator: the token must be a JWT of <span className="mono">{signIn?.issuer}</span> for the audience{' '}
          <span className="mono">{signIn?.audience}</span>.
        </p>
      ) : (
        <p>
          For safety a sign-in lasts for a limited time. Sign in again and you are back on this page, with your work.
        </p>
      )}
      <Button mt="lg" fullWidth data-autofocus onClick={() => void session.signIn()}>
        Sign in again
      </Button>
    </Modal>
  )
}
