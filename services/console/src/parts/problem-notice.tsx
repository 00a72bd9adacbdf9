import { Alert, Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Problem } from '../core/explain-problem.ts'
import { BASE_PATH } from '../read-config.ts'
import { WarningIcon } from './icons.tsx'
import classes from './problem-notice.module.css'

/** A gateway without a top-up page names the console instead: a link to it would lead nowhere. */
function isHere(address: string): boolean {
  const { origin, pathname } = new URL(address)
  return `${origin}${pathname.replace(/\/$/, '')}` === `${window.location.origin}${BASE_PATH}`
}

/** An error with its advice. Screen readers announce it when it appears. */
export function ProblemNotice({ problem, action }: { problem: Problem; action?: ReactNode }) {
  const { title, advice, code, requestId, link } = problem
  return (
    <Alert color="var(--bad)" mb="md" icon={<WarningIcon />} title={title}>
      <p>
        {advice}{' '}
        {link && !isHere(link.address) && (
          <Anchor href={link.address} underline="always">
            {link.label}
          </Anchor>
        )}
      </p>
      <p className={classes.code}>
        {code}
        {requestId && ` · request ${requestId}`}
      </p>
      {action}
    </Alert>
  )
}
