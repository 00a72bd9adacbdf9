import type { UseQueryResult } from '@tanstack/react-query'
import { describeEnding, type EndingFigures } from '../core/describe-ending.ts'
import { ProblemNotice } from './problem-notice.tsx'
import { problemOf } from './query-view.tsx'

interface EndingProps {
  preview: UseQueryResult<EndingFigures>
  verb?: 'ends' | 'suspends'
}

/** The effect of a change in numbers, before anybody confirms it. */
export function Ending({ preview, verb }: EndingProps) {
  const { data, error, isFetching } = preview
  if (error) return <ProblemNotice problem={problemOf(error)} />
  return (
    <p role="status">
      <strong>{data && !isFetching ? describeEnding(data, verb) : 'Counting keys and open requests…'}</strong>
    </p>
  )
}
