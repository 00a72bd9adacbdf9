import type { AnchorHTMLAttributes, MouseEvent } from 'react'
import { addressOf, navigate } from '../navigation.ts'

/** A link to another page of the console: a real one, followed without a reload. */
export function PageLink({ to, onClick, ...others }: { to: string } & AnchorHTMLAttributes<HTMLAnchorElement>) {
  function follow(event: MouseEvent<HTMLAnchorElement>): void {
    onClick?.(event)
    const wantsElsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0
    if (wantsElsewhere) return
    event.preventDefault()
    navigate(to)
    window.scrollTo(0, 0)
  }
  return <a {...others} href={addressOf(to)} onClick={follow} />
}
