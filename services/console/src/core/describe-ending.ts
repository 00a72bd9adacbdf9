/** The effect of a change in words and numbers. */

import { formatCount } from './format.ts'

export interface EndingFigures {
  keys: number
  /** Null: the gateway cannot count them now. */
  open_requests: number | null
}

export function describeEnding(
  { keys, open_requests: requests }: EndingFigures,
  verb: 'ends' | 'suspends' = 'ends',
): string {
  if (keys === 0) return `This ${verb} no key.`
  const cut =
    requests === null
      ? 'the number of open requests is not known now'
      : requests === 0
        ? 'no request is open'
        : `${plural(requests, 'open request')} ${requests === 1 ? 'is' : 'are'} cut off`
  return `This ${verb} ${plural(keys, 'key')}; ${cut}.`
}

export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}
