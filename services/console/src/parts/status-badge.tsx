import type { ReactNode } from 'react'
import classes from './status-badge.module.css'

export function StatusBadge({ tone, children }: { tone: 'good' | 'quiet' | 'accent'; children: ReactNode }) {
  return (
    <span className={classes.badge} data-tone={tone}>
      {children}
    </span>
  )
}
