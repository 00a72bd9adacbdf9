/** The parts of the shown page's address that its pattern names: `:project` of `/projects/:project/keys`. */

import { createContext, use } from 'react'

export type PageParameters = Readonly<Record<string, string>>

export const PageParametersContext = createContext<PageParameters>({})

export function usePageParameter(name: string): string {
  return use(PageParametersContext)[name] ?? ''
}
