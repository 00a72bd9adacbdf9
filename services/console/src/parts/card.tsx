import { useId, type ReactNode } from 'react'
import classes from './card.module.css'

export interface CardProps {
  title?: ReactNode
  aside?: ReactNode
  children: ReactNode
  className?: string
}

export function Card({ title, aside, children, className = '' }: CardProps) {
  const id = useId()
  return (
    <section className={`${classes.card} ${className}`} aria-labelledby={title ? id : undefined}>
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
