/**
 * Writes the theme's CSS variables into a file. The component library would put them into a `<style>` element when the
 * page runs, which a strict Content-Security-Policy forbids.
 */

import {
  convertCssVariables,
  DEFAULT_THEME,
  defaultCssVariablesResolver,
  mergeMantineTheme,
  type MantineTheme,
} from '@mantine/core'
import type { Plugin } from 'vite'
import { theme } from '../src/theme/theme.ts'

const IMPORTED = './theme-variables.css'

export function themeVariables(): Plugin {
  return {
    name: 'theme-variables',
    enforce: 'pre',
    resolveId: (source) => (source === IMPORTED ? '\0theme-variables.css' : undefined),
    load: (id) => (id === '\0theme-variables.css' ? variablesOf(mergeMantineTheme(DEFAULT_THEME, theme)) : undefined),
  }
}

/** Omits the selector of shadow roots: the page has none. */
function variablesOf(merged: MantineTheme): string {
  return convertCssVariables(defaultCssVariablesResolver(merged), ':root')
}
