/**
 * The component library's theme. Colours of text and lines are in `global.css`, for both colour schemes.
 */

import { createTheme, type MantineColorsTuple } from '@mantine/core'

/** The colour of actions. White text keeps 4.5 : 1 on the sixth and the seventh shade, which carry it. */
const signal: MantineColorsTuple = [
  '#eef2ff',
  '#dfe5ff',
  '#bcc8ff',
  '#97a9ff',
  '#7a90ff',
  '#5f78f5',
  '#4560e6',
  '#3049d1',
  '#263aa8',
  '#1d2c80',
]

/** Cool greys with a little blue. */
const dark: MantineColorsTuple = [
  '#d7dae3',
  '#b3b8c6',
  '#9aa0b2',
  '#6b7184',
  '#3b4050',
  '#2b2f3c',
  '#20232e',
  '#181a23',
  '#12141b',
  '#0c0d12',
]

export const theme = createTheme({
  primaryColor: 'signal',
  primaryShade: { light: 7, dark: 6 },
  colors: { signal, dark },
  fontFamily: "'Geist Variable', system-ui, sans-serif",
  fontFamilyMonospace: "'Geist Mono Variable', ui-monospace, monospace",
  headings: { fontFamily: "'Geist Variable', system-ui, sans-serif", fontWeight: '600' },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Modal: {
      // To lock the scroll, the library would write a `<style>` element, which the policy forbids.
      defaultProps: { radius: 'lg', padding: 'lg', centered: true, withCloseButton: false, lockScroll: false },
    },
  },
})
