import { Badge } from '@mantine/core'
import type { ReactNode } from 'react'

export function StatusBadge({
  tone,
  children,
}: {
  tone: 'good' | 'warn' | 'bad' | 'quiet' | 'accent'
  children: ReactNode
}) {
  return (
    <Badge variant="light" size="lg" tt="none" fw={500} color={`var(--${tone})`}>
      {children}
    </Badge>
  )
}
