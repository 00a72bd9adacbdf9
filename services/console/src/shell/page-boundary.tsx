import { Button } from '@mantine/core'
import { Component, type ReactNode } from 'react'
import { ProblemNotice } from '../parts/problem-notice.tsx'

/** A page that cannot be shown is said in words, and leaves the others reachable. */
export class PageBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
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
          advice: 'The gateway does not answer, or was updated since this tab was opened. Load the console anew.',
          code: 'PAGE_FAILED',
          mayPass: true,
        }}
        action={<Button onClick={() => window.location.reload()}>Load anew</Button>}
      />
    )
  }
}
