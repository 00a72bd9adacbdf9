/**
 * The component library with the console's theme. The colour scheme follows the system until the person switches it. The
 * history entry keeps it: the browser's storage stays empty.
 */

import { MantineProvider, type MantineColorSchemeManager } from '@mantine/core'
import type { ReactNode } from 'react'
import { entryState, onNavigation, keepState } from '../navigation.ts'
import { theme } from './theme.ts'

let stopListening = () => {}
const schemeManager: MantineColorSchemeManager = {
  get: (fallback) => entryState().colorScheme ?? fallback,
  set: (colorScheme) => keepState({ colorScheme }),
  // Back from the identity provider, the history entry is that of the page before the sign-in.
  subscribe(onUpdate) {
    stopListening = onNavigation(() => onUpdate(entryState().colorScheme ?? 'auto'))
  },
  unsubscribe: () => stopListening(),
  clear: () => keepState({ colorScheme: 'auto' }),
}

/** The variables and global classes are in style sheets: a `<style>` element would break the policy. */
export function Themed({ children }: { children: ReactNode }) {
  return (
    <MantineProvider
      theme={theme}
      colorSchemeManager={schemeManager}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      {children}
    </MantineProvider>
  )
}
