/**
 * The pages: their addresses, names and places in the navigation. Each is a chunk of its own. The browser loads the chunks
 * after the first page, or earlier when the person opens one.
 */

import { lazy, type ComponentType } from 'react'
import { ChartIcon, ChatIcon, HomeIcon, KeyIcon, ModelsIcon } from '../parts/icons.tsx'

type LoadPage = () => Promise<{ default: ComponentType }>

export interface ConsolePage {
  /** Below the console's address. */
  path: string
  name: string
  Icon: ComponentType
  load: LoadPage
  Page: ComponentType
}

const page = (path: string, name: string, Icon: ComponentType, load: LoadPage): ConsolePage => ({
  ...{ path, name, Icon, load },
  Page: lazy(load),
})

export const PAGES: readonly [ConsolePage, ...ConsolePage[]] = [
  page('', 'Overview', HomeIcon, () => import('../pages/overview/overview-page.tsx')),
  page('/keys', 'Keys', KeyIcon, () => import('../pages/keys/keys-page.tsx')),
  page('/usage', 'Usage', ChartIcon, () => import('../pages/usage/usage-page.tsx')),
  page('/models', 'Models', ModelsIcon, () => import('../pages/models/models-page.tsx')),
  page('/playground', 'Playground', ChatIcon, () => import('../pages/playground/playground-page.tsx')),
]

/** An unknown address shows the first page. */
export function pageAt(path: string): ConsolePage {
  return PAGES.find((candidate) => candidate.path === path) ?? PAGES[0]
}

/** Loads every page early, so that all work while the gateway is away. A page that failed to load is fetched again when shown. */
export async function fetchPages(): Promise<void> {
  await Promise.allSettled(PAGES.map(({ load }) => load()))
}
