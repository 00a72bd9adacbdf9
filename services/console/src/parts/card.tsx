import { useId, type ReactNode } from 'react'
import classes from './card.module.css'

export interface CardProps {
  title?: string
  aside?: ReactNode
  children: ReactNode
}

export function Card({ title, aside, children }: CardProps) {
  const id = useId()
  return (
    <section className={classes.card} aria-labelledby={title ? id : undefined}>
      {title && (
        <div className={classes.head}>
          <h2 id={id} className={classes.title}>
            {title}
          </h2>
          {aside}
        </div>
      )}
      {children}
    </section>
  )
}
