import { Loader } from '@mantine/core'
import classes from './opening.module.css'

export function Opening() {
  return (
    <main className={classes.ground} aria-busy="true">
      <Loader size="sm" aria-hidden="true" />
      <p role="status" className="quiet">
        Signing you in…
      </p>
    </main>
  )
}
