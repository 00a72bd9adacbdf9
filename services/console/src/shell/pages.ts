/**
 * The pages: their addresses, names and places in the navigation. Each is loaded when it is first shown.
 */

import { lazy, type ComponentType } from 'react'
import { ChatIcon, HomeIcon, KeyIcon, ModelsIcon } from '../parts/icons.tsx'

export interface ConsolePage {
  /** Below the console's address. */
  path: string
  name: string
  Icon: ComponentType
  Page: ComponentType
}

export const PAGES: readonly [ConsolePage, ...ConsolePage[]] = [
  { path: '', name: 'Overview', Icon: HomeIcon, Page: lazy(() => import('../pages/overview/overview-page.tsx')) },
  { path: '/keys', name: 'Keys', Icon: KeyIcon, Page: lazy(() => import('../pages/keys/keys-page.tsx')) },
  { path: '/models', name: 'Models', Icon: ModelsIcon, Page: lazy(() => import('../pages/models/models-page.tsx')) },
  {
    path: '/playground',
    name: 'Playground',
    Icon: ChatIcon,
    Page: lazy(() => import('../pages/playground/playground-page.tsx')),
  },
]

/** An address that is no page's shows the first. */
export function pageAt(path: string): ConsolePage {
  return PAGES.find((page) => page.path === path) ?? PAGES[0]
}
