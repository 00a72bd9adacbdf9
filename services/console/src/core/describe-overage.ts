/** The effect of switching a project's overage, in words and numbers. */

import type { ProjectView } from '@gateway/contracts/administration/project-views'
import { formatAmount } from './format.ts'

export type OverageSwitch = NonNullable<ProjectView['overage_switch']>

/** `isOn`: overage is on, and the switch ends it. */
export function describeOverage(
  { spent, unit }: Pick<ProjectView, 'spent' | 'unit'>,
  { beyond, up_to: upTo }: OverageSwitch,
  isOn: boolean,
): string {
  const amount = (figure: number) => formatAmount(figure, unit)
  const used = `This month has used ${amount(spent)}.`
  if (isOn) {
    const least = upTo === null ? beyond : Math.min(beyond, upTo)
    return `${used} From the next request on, requests are refused at ${amount(least)}${spent >= least ? ': at once' : ''}.`
  }
  if (upTo === null)
    return `${used} From the next request on, requests beyond ${amount(beyond)} are served and billed, without a limit.`
  if (upTo > beyond) {
    return `${used} From the next request on, requests beyond ${amount(beyond)} are served and billed, up to the spend limit of ${amount(upTo)}.`
  }
  return `${used} Requests are still refused at the spend limit of ${amount(upTo)}, which is not above the plan’s allowance.`
}
