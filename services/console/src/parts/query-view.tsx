import type { UseQueryResult } from '@tanstack/react-query'
import { Button, Skeleton, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { unreadable, type Problem } from '../core/explain-problem.ts'
import { GatewayProblem } from '../gateway/send-request.ts'
import { ProblemNotice } from './problem-notice.tsx'

export interface QueryViewProps<Data> {
  query: UseQueryResult<Data>
  /** The heights of the content's cards, so that nothing moves when they arrive. */
  heights: readonly number[]
  children: (data: Data) => ReactNode
}

/** Shows a query's data, its progress or its error. Data that is shown already stays when a later fetch fails. */
export function QueryView<Data>({ query, heights, children }: QueryViewProps<Data>) {
  const { data, error } = query
  if (data === undefined && !error) {
    return (
      <Stack gap={20} aria-busy="true">
        {heights.map((height, index) => (
          <Skeleton key={index} height={height} radius="lg" />
        ))}
      </Stack>
    )
  }
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
