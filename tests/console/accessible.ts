/**
 * Expects that axe finds no violation on a page.
 */

import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

export async function expectAccessible(page: Page, where: string): Promise<void> {
  // Through the debugger's door: a script element would break the page's policy.
  await page.evaluate(axe.source)
  const violations = await page.evaluate(async () => {
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
  })
  expect({ where, violations }).toEqual({ where, violations: [] })
}
