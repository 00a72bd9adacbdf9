/**
 * The pages: their addresses, names and places in the navigation. Each is a chunk of its own. The browser loads the chunks
 * after the first page, or earlier when the person opens one.
 */

import { lazy, type ComponentType } from 'react'
import type { PageParameters } from '../page-parameters.ts'
import {
  AuditIcon,
  BackendsIcon,
  ChartIcon,
  ChatIcon,
  FolderIcon,
  GaugeIcon,
  HomeIcon,
  KeyIcon,
  LimitsIcon,
  ModelsIcon,
  ReceiptIcon,
  UsersIcon,
} from '../parts/icons.tsx'

type LoadPage = () => Promise<{ default: ComponentType }>

export interface ConsolePage {
  /** Below the console's address; `:name` stands for a part of the address, which the page reads with `usePageParameter`. */
  path: string
  name: string
  Icon: ComponentType
  load: LoadPage
  Page: ComponentType
  /** Not in the navigation. */
  isHidden?: boolean
}

const page = (path: string, name: string, Icon: ComponentType, load: LoadPage): ConsolePage => ({
  ...{ path, name, Icon, load },
  Page: lazy(load),
})
const hidden = (one: ConsolePage): ConsolePage => ({ ...one, isHidden: true })

/** Of the person's own account. */
export const ACCOUNT_PAGES: readonly [ConsolePage, ...ConsolePage[]] = [
  page('', 'Overview', HomeIcon, () => import('../pages/overview/overview-page.tsx')),
  page('/keys', 'Keys', KeyIcon, () => import('../pages/keys/keys-page.tsx')),
  page('/usage', 'Usage', ChartIcon, () => import('../pages/usage/usage-page.tsx')),
  page('/models', 'Models', ModelsIcon, () => import('../pages/models/models-page.tsx')),
  page('/playground', 'Playground', ChatIcon, () => import('../pages/playground/playground-page.tsx')),
  page('/receipts', 'Receipts', ReceiptIcon, () => import('../pages/receipts/receipts-page.tsx')),
  hidden(page('/projects', 'Your projects', FolderIcon, () => import('../pages/projects/own-projects-page.tsx'))),
]

/** Of one project, for its members and for the organization's roles. */
export const PROJECT_PAGES: readonly ConsolePage[] = [
  page('/projects/:project', 'Project', GaugeIcon, () => import('../pages/project/project-page.tsx')),
  page('/projects/:project/keys', 'Keys', KeyIcon, () => import('../pages/project/project-keys-page.tsx')),
  page('/projects/:project/members', 'Members', UsersIcon, () => import('../pages/project/members-page.tsx')),
  page('/projects/:project/limits', 'Limits', LimitsIcon, () => import('../pages/project/limits-page.tsx')),
]

/** For a role in the organization. */
export const ORGANIZATION_PAGES: readonly ConsolePage[] = [
  page('/organization', 'Overview', GaugeIcon, () => import('../pages/organization/overview-page.tsx')),
  page('/organization/projects', 'Projects', FolderIcon, () => import('../pages/projects/projects-page.tsx')),
  page('/organization/users', 'Users', UsersIcon, () => import('../pages/users/users-page.tsx')),
  hidden(page('/organization/users/:user', 'User', UsersIcon, () => import('../pages/users/user-page.tsx'))),
  page('/organization/backends', 'Backends', BackendsIcon, () => import('../pages/backends/backends-page.tsx')),
  page(
    ...(['/organization/models', 'Models and lanes', ModelsIcon] as const),
    () => import('../pages/configured-models/configured-models-page.tsx'),
  ),
  page('/organization/audit', 'Audit', AuditIcon, () => import('../pages/audit/audit-page.tsx')),
  hidden(page('/organization/audit/:row', 'Audit', AuditIcon, () => import('../pages/audit/audit-row-page.tsx'))),
  page('/organization/admin-keys', 'Admin keys', KeyIcon, () => import('../pages/admin-keys/admin-keys-page.tsx')),
]

const PAGES = [...ACCOUNT_PAGES, ...PROJECT_PAGES, ...ORGANIZATION_PAGES]

export interface ShownPage {
  page: ConsolePage
  parameters: PageParameters
}

/** An unknown address shows the first page. */
export function pageAt(path: string): ShownPage {
  for (const candidate of PAGES) {
    const parameters = match(candidate.path, path)
    if (parameters) return { page: candidate, parameters }
  }
  return { page: ACCOUNT_PAGES[0], parameters: {} }
}

function match(pattern: string, path: string): PageParameters | null {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return null
  const parameters: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(':') && given[index] !== '') parameters[part.slice(1)] = given[index]!
    else if (part !== given[index]) return null
  }
  return parameters
}

/** The address of a page with its parameters. */
export function pathTo({ path }: Pick<ConsolePage, 'path'>, parameters: PageParameters): string {
  return path.replace(/:(\w+)/g, (_name, name: string) => parameters[name] ?? '')
}

/** Loads every page early, so that all work while the gateway is away. A page that failed to load is fetched again when shown. */
export async function fetchPages(role: 'reader' | 'owner' | null): Promise<void> {
  const wanted = role === null ? [...ACCOUNT_PAGES, ...PROJECT_PAGES] : PAGES
  await Promise.allSettled(wanted.map(({ load }) => load()))
}
