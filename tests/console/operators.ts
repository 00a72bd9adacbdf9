/**
 * The pages of those who run the gateway serve everyone: both colour schemes, screen readers, phones.
 */

import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { expectAccessible } from './accessible.ts'
import { administerAs, newMember, ownerOf, visitAs } from './administer.ts'
import { stage } from './shared-stage.ts'
import { newName, openConsole } from './visitor.ts'

/** Each page with something on it. */
async function paths(): Promise<string[]> {
  const owner = await ownerOf(stage)
  const member = await newMember(stage)
  const { id: project_id } = await owner.call('projects.create', { name: `Seen ${newName()}` })
  await owner.call('projectUsers.create', { project_id, user_id: member.id, role: 'member' })
  await (await administerAs(stage, member.name)).call('apiKeys.create', { project_id, name: 'seen' })
  await owner.call('adminKeys.create', { name: `seen ${newName()}` })
  const [row] = (await owner.call('auditLogs.list', { limit: 1 })).data
  const organization = ['backends', 'models', 'users', `users/${member.id}`, 'audit', `audit/${row!.id}`, 'admin-keys']
  return [...organization.map((path) => `/organization/${path}`), '/receipts']
}

async function settled(page: Page): Promise<void> {
  // The page signs in again first.
  await page.locator('#content h1').waitFor()
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
}

describe.each(['light', 'dark'] as const)('in the %s scheme', (colorScheme) => {
  test('axe finds nothing on any page', async () => {
    const options = { colorScheme, reducedMotion: 'reduce' } as const
    const { page, shot } = await visitAs(stage, `owner-${newName()}`, '', options)
    for (const path of await paths()) {
      await openConsole(stage, page, path)
      await settled(page)
      if (path.endsWith('/audit')) await page.locator('summary').first().click()
      await expectAccessible(page, path)
      await shot(`${path.split('/').slice(1, 3).join('-')}-${colorScheme}`)
    }
    await openConsole(stage, page, '/organization/admin-keys')
    await page.getByRole('button', { name: 'Create admin key' }).click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page, 'create an admin key')
  })
})

test('on a phone nothing scrolls sideways, and every page can be reached', async () => {
  const phone = { viewport: { width: 375, height: 780 }, isMobile: true, hasTouch: true }
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, '', phone)
  for (const path of await paths()) {
    await openConsole(stage, page, path)
    await settled(page)
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.screen.width)
    expect({ path, beyond: Math.max(0, beyond) }).toEqual({ path, beyond: 0 })
    await shot(`phone-${path.split('/').slice(1, 3).join('-')}`)
  }
  await openConsole(stage, page, '/organization/backends')
  for (const name of ['Users', 'Models and lanes', 'Audit', 'Admin keys', 'Backends']) {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { name, exact: true }).waitFor()
  }
})
