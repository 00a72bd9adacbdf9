import { Menu, UnstyledButton } from '@mantine/core'
import { useMe, useOperation } from '../gateway/administration.ts'
import { usePageParameter } from '../page-parameters.ts'
import { CheckIcon, SwitchIcon } from '../parts/icons.tsx'
import { PageLink } from '../parts/page-link.tsx'
import { projectName } from '../core/project-name.ts'
import { ORGANIZATION_PAGES } from './pages.ts'
import classes from './scope-switcher.module.css'

/** More stand on a page of their own, with a search. */
const MOST_PROJECTS = 8

/** Whose pages are shown: the own account's, a project's, the organization's. A person with the own account alone sees nothing. */
export function ScopeSwitcher({ isOfOrganization }: { isOfOrganization: boolean }) {
  const me = useMe()
  const shown = usePageParameter('project')
  const hasProjects = (me?.projects ?? 0) > 0
  const own = useOperation('projectViews.list', { mine: 'true', limit: MOST_PROJECTS }, { enabled: hasProjects })
  const projects = own.data?.data ?? []
  const isKnown = projects.some(({ id }) => id === shown)
  const other = useOperation('projectViews.retrieve', { project_id: shown }, { enabled: shown !== '' && !isKnown })
  if (!hasProjects && !me?.role && shown === '') return null
  const current = projects.find(({ id }) => id === shown) ?? other.data
  const name = isOfOrganization
    ? 'Organization'
    : shown === ''
      ? 'Your account'
      : current
        ? projectName(current)
        : shown
  return (
    <Menu
      position="bottom-start"
      width={220}
      withinPortal={false}
      withInitialFocusPlaceholder={false}
      transitionProps={{ duration: 0 }}
    >
      <Menu.Target>
        <UnstyledButton className={classes.trigger} aria-label={`Account: ${name}`}>
          <span dir="auto" className={classes.name}>
            {name}
          </span>
          <SwitchIcon />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Scope to="" name="Your account" isShown={shown === '' && !isOfOrganization} />
        {hasProjects && <Menu.Label>Projects</Menu.Label>}
        {projects.map((project) => (
          <Scope
            key={project.id}
            to={`/projects/${project.id}`}
            name={projectName(project)}
            isShown={project.id === shown}
          />
        ))}
        {own.data?.has_more && <Scope to="/projects" name="All your projects…" />}
        {me?.role && (
          <>
            <Menu.Divider />
            <Scope to={ORGANIZATION_PAGES[0]!.path} name="Organization" isShown={isOfOrganization} />
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}

function Scope({ to, name, isShown = false }: { to: string; name: string; isShown?: boolean }) {
  return (
    <Menu.Item component={PageLink} to={to} rightSection={isShown && <CheckIcon />} aria-current={isShown || undefined}>
      <span dir="auto">{name}</span>
    </Menu.Item>
  )
}
