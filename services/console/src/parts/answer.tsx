import type { UseQueryResult } from '@tanstack/react-query'
import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { unreadable, type Problem } from '../core/explain-problem.ts'
import { GatewayProblem } from '../gateway/ask.ts'
import { ProblemNotice } from './problem-notice.tsx'

export interface AnswerProps<Data> {
  query: UseQueryResult<Data>
  /** Of the content's size, so that nothing moves when it arrives. */
  loading: ReactNode
  children: (data: Data) => ReactNode
}

/** What was asked of the gateway: on its way, here, or not to be had. What is shown already stays when a later try fails. */
export function Answer<Data>({ query, loading, children }: AnswerProps<Data>) {
  const { data, error } = query
  if (data === undefined && !error) return <div aria-busy="true">{loading}</div>
  return (
    <>
      {error && (
        <ProblemNotice
          problem={problemOf(error)}
          action={
            <Button variant="default" size="xs" loading={query.isFetching} onClick={() => void query.refetch()}>
              Try again
            </Button>
          }
        />
      )}
      {data !== undefined && children(data)}
    </>
  )
}

export function problemOf(error: unknown): Problem {
  return error instanceof GatewayProblem ? error.problem : unreadable
}
