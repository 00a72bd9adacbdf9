import { ActionIcon, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useId } from 'react'
import { useMe } from '../gateway/administration.ts'
import { useConfig } from '../gateway/use-caller.ts'
import { usePageParameter } from '../page-parameters.ts'
import { BookIcon, LeaveIcon, Mark, MoonIcon, SunIcon } from '../parts/icons.tsx'
import { PageLink } from '../parts/page-link.tsx'
import { useSession, useSessionState } from '../session/use-session.ts'
import classes from './navigation.module.css'
import { ACCOUNT_PAGES, ORGANIZATION_PAGES, pathTo, PROJECT_PAGES, type ConsolePage } from './pages.ts'
import { ScopeSwitcher } from './scope-switcher.tsx'

/**
 * A column beside the page: the pages of the own account or of one project, and those of the organization. On a phone, a bar above
 * the page and one below, with the pages of the present part alone.
 */
export function Navigation({ current }: { current: ConsolePage }) {
  const me = useMe()
  const project = usePageParameter('project')
  const isOfOrganization = ORGANIZATION_PAGES.includes(current)
  return (
    <nav aria-label="Console" className={classes.side}>
      <div className={classes.brand}>
        <Mark size={28} />
        <span className={classes.product}>Model Gateway</span>
      </div>
      <ScopeSwitcher isOfOrganization={isOfOrganization} />
      <div className={isOfOrganization ? classes.otherPages : classes.pages}>
        <Pages pages={project ? PROJECT_PAGES : ACCOUNT_PAGES} current={current} parameters={{ project }} />
      </div>
      {me?.role && <Organization current={current} isHere={isOfOrganization} />}
      <Account />
    </nav>
  )
}

function Organization({ current, isHere }: { current: ConsolePage; isHere: boolean }) {
  const id = useId()
  return (
    <div role="group" aria-labelledby={id} className={classes.organization} data-is-here={isHere}>
      <p id={id} className={classes.part}>
        Organization
      </p>
      <div className={isHere ? classes.pages : classes.otherPages}>
        <Pages pages={ORGANIZATION_PAGES} current={current} parameters={{}} />
      </div>
    </div>
  )
}

interface PagesProps {
  pages: readonly ConsolePage[]
  current: ConsolePage
  parameters: Readonly<Record<string, string>>
}

function Pages({ pages, current, parameters }: PagesProps) {
  return pages
    .filter(({ isHidden }) => !isHidden)
    .map((page) => (
      <PageLink
        key={page.path}
        to={pathTo(page, parameters)}
        className={classes.page}
        aria-current={page === current ? 'page' : undefined}
      >
        <page.Icon />
        <span>{page.name}</span>
      </PageLink>
    ))
}

function Account() {
  const session = useSession()
  const state = useSessionState()
  const { docsUrl } = useConfig()
  return (
    <div className={classes.account}>
      <a href={docsUrl} className={classes.docs}>
        <BookIcon />
        <span>API reference</span>
      </a>
      <div className={classes.person}>
        <span dir="auto" className={classes.name} title={state.kind === 'signed-in' ? state.name : undefined}>
          {state.kind === 'signed-in' && state.name}
        </span>
        <SchemeSwitch />
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label="Sign out"
          title="Sign out"
          onClick={() => void session.signOut()}
        >
          <LeaveIcon />
        </ActionIcon>
      </div>
    </div>
  )
}

function SchemeSwitch() {
  // Without transitions, the library would write a `<style>` element, which the policy forbids.
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'light' ? 'dark' : 'light'
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={`Switch to ${other} colours`}
      title={`Switch to ${other} colours`}
      onClick={() => setColorScheme(other)}
    >
      {scheme === 'light' ? <MoonIcon /> : <SunIcon />}
    </ActionIcon>
  )
}
