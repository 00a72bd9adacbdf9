import { ArrowIcon } from '../../parts/icons.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import classes from './try-it.module.css'

export function TryIt() {
  return (
    <PageLink to="/playground" className={classes.banner}>
      <span>
        <strong className={classes.title}>Try a model now</strong>
        <span className="quiet">The playground streams through your gateway, with your key.</span>
      </span>
      <ArrowIcon />
    </PageLink>
  )
}
