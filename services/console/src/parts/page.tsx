import { useEffect, useRef, type ReactNode } from 'react'
import classes from './page.module.css'

let isFirst = true

/** A page's head and body. After a change of page its title takes the focus, so that a screen reader reads it. */
export function Page({ title, lead, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (!isFirst) heading.current?.focus({ preventScroll: true })
    isFirst = false
  }, [])
  return (
    <>
      <title>{`${title} · Model Gateway`}</title>
      <div className={classes.head}>
        <div>
          <h1 ref={heading} tabIndex={-1} className={classes.title}>
            {title}
          </h1>
          {lead && <p className={classes.lead}>{lead}</p>}
        </div>
        {actions}
      </div>
      <div className={classes.body}>{children}</div>
    </>
  )
}

export interface PageProps {
  title: string
  lead?: ReactNode
  actions?: ReactNode
  children: ReactNode
}
