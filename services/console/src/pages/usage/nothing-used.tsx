import { Card } from '../../parts/card.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import classes from './usage.module.css'

export function NothingUsed() {
  return (
    <Card>
      <div className={classes.empty}>
        <h2 className={classes.emptyTitle}>No usage in this time</h2>
        <p className="quiet">
          Ask something in the <PageLink to="/playground">playground</PageLink>, or choose another period.
        </p>
      </div>
    </Card>
  )
}
