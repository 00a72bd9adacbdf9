/**
 * Members, readers and people without a role each see their own part, on any display.
 */

import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { expectAccessible } from './accessible.ts'
import { administerAs, newMember, ownerOf, statusOf, visitAs } from './administer.ts'
import { stage } from './shared-stage.ts'
import { heading, newName, openConsole } from './visitor.ts'

const PARTS = ['', '/keys', '/members', '/limits']

/** With a key, a service account, a group, an alert and limits. */
async function newProject(): Promise<{ id: string; name: string }> {
  const owner = await ownerOf(stage)
  const name = `Shared ${newName()}`
  const { id: project_id } = await owner.call('projects.create', { name })
  await owner.call('apiKeys.create', { project_id, name: 'ours', max_requests_per_1_minute: 3 })
  const robot = await owner.call('serviceAccounts.create', { project_id, name: 'nightly' })
  expect(await statusOf(stage, robot.api_key!.value)).toBe(200)
  await owner.call('spendLimit.update', { project_id, allowance: 900_000 })
  const notification_channel = { type: 'email', recipients: ['team@example.com'] }
  await owner.call('projectSpendAlerts.create', { project_id, allowance: 500, notification_channel })
  const group = await owner.call('groups.create', { name: `team-${newName()}` })
  await owner.call('projectGroups.create', { project_id, group_id: group.id, role: 'member' })
  return { id: project_id, name }
}

async function settled(page: Page): Promise<void> {
  await page.locator('h1').waitFor()
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
}

test('a member switches to the project, makes own keys there, and sees no button for anything else', async () => {
  const { id, name } = await newProject()
  const member = await newMember(stage)
  await (await ownerOf(stage)).call('projectUsers.create', { project_id: id, user_id: member.id, role: 'member' })
  const { page, shot } = await visitAs(stage, member.name, '')
  expect(await page.getByRole('group', { name: 'Organization' }).count()).toBe(0)
  await page.getByRole('button', { name: 'Account: Your account' }).click()
  await shot('switcher')
  await page.getByRole('menuitem', { name }).click()
  await heading(page, name).waitFor()
  await page.getByText('member', { exact: true }).waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Keys' }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel('Name').fill('my own')
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('button', { name: 'Revoke my own' }).waitFor()
  await expect.poll(() => page.getByRole('button', { name: /^Revoke/ }).count()).toBe(1)
  expect(await offered(page, id, ['Create key', 'Change my own', 'Rotate my own', 'Revoke my own'])).toEqual([])
  await page.getByRole('button', { name: `Account: ${name}` }).click()
  await page.getByRole('menuitem', { name: 'Your account' }).click()
  await heading(page, 'Overview').waitFor()
})

test('an owner of a project manages its people, keys and alerts, and is offered nothing that the gateway would refuse', async () => {
  const { id } = await newProject()
  const [lead, other] = [await newMember(stage), await newMember(stage)]
  await (await ownerOf(stage)).call('projectUsers.create', { project_id: id, user_id: lead.id, role: 'owner' })
  const { page } = await visitAs(stage, lead.name, `/projects/${id}/members`)
  await page.getByRole('button', { name: 'Add a person' }).click()
  await page.getByLabel('E-mail').fill(other.email)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('button', { name: `Make an owner ${other.name}` }).click()
  await page.getByRole('button', { name: `Make a member ${other.name}` }).waitFor()
  await page.getByRole('button', { name: /^Remove team-/ }).click()
  await page.getByText('This ends no key.').waitFor()
  await page.getByRole('button', { name: 'Remove group' }).click()
  await page.getByText('No group is a member.').waitFor()

  await openConsole(stage, page, `/projects/${id}/keys`)
  await page.getByRole('button', { name: 'Add key to nightly' }).click()
  await page.getByLabel('Name').fill('second')
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByText('The value of second').waitFor()
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('button', { name: 'Revoke ours' }).click()
  await page.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByRole('button', { name: 'Revoke ours' }).waitFor({ state: 'hidden' })

  await openConsole(stage, page, `/projects/${id}/limits`)
  await page.getByRole('button', { name: 'Delete the alert at 500 tokens' }).click()
  await page.getByText('None.', { exact: true }).waitFor()
  expect((await offered(page, id, [])).toSorted()).toEqual(
    [
      ...['Create key', 'Create service account', 'Add key to nightly', 'Delete nightly'],
      ...['Change second', 'Rotate second', 'Revoke second'],
      ...['Change Secret Key', 'Rotate Secret Key', 'Revoke Secret Key'],
      ...['Add a person', `Make a member ${lead.name}`, `Remove ${lead.name}`],
      ...[`Make a member ${other.name}`, `Remove ${other.name}`, 'Add an alert'],
    ].toSorted(),
  )
})

test('a reader sees every page of the organization, and no button that changes anything', async () => {
  const { id } = await newProject()
  const { page } = await visitAs(stage, `reader-${newName()}`, '/organization/projects')
  await page.getByRole('table').waitFor()
  expect(await page.getByRole('button', { name: 'Create project' }).count()).toBe(0)
  expect(await offered(page, id, [])).toEqual([])
})

/** Buttons beyond the expected ones, on all pages of a project. Filters and the navigation change nothing. */
async function offered(page: Page, project: string, expected: string[]): Promise<string[]> {
  const found: string[] = []
  for (const part of PARTS) {
    await openConsole(stage, page, `/projects/${project}${part}`)
    await settled(page)
    const buttons = page.locator('main').getByRole('button')
    for (const button of await buttons.all()) {
      found.push((await button.getAttribute('aria-label')) ?? (await button.innerText()))
    }
  }
  return found.filter((name) => !expected.includes(name))
}

test('a person without a role sees neither the organization nor a foreign project', async () => {
  const { id } = await newProject()
  const { page } = await visitAs(stage, newName(), '/organization/projects')
  await page.getByRole('alert').getByText('This page is for those who run the gateway').waitFor()
  expect(await page.getByRole('button', { name: /^Account:/ }).count()).toBe(0)
  await openConsole(stage, page, `/projects/${id}`)
  await page.getByRole('alert').getByText('It is not there, or you may not see it').first().waitFor()
})

test('a person of many projects finds them all on one page', async () => {
  const owner = await ownerOf(stage)
  const member = await newMember(stage)
  const names = Array.from({ length: 10 }, (_, index) => `Project ${index} of ${member.name}`)
  for (const name of names) {
    const { id } = await owner.call('projects.create', { name })
    await owner.call('projectUsers.create', { project_id: id, user_id: member.id, role: 'owner' })
  }
  const { page } = await visitAs(stage, member.name, '')
  await page.getByRole('button', { name: 'Account: Your account' }).click()
  await page.getByRole('menuitem', { name: 'All your projects…' }).click()
  await heading(page, 'Your projects').waitFor()
  for (const name of names) await page.getByRole('link', { name }).waitFor()
  await page.getByLabel('Search projects').fill('Project 7')
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  expect((await (await administerAs(stage, member.name)).call('me.retrieve')).projects).toBe(10)
})

describe.each(['light', 'dark'] as const)('in the %s scheme', (colorScheme) => {
  test('axe finds nothing on the pages of the organization and of a project', async () => {
    const { id } = await newProject()
    const { page } = await visitAs(stage, `owner-${newName()}`, '/organization/projects', {
      colorScheme,
      reducedMotion: 'reduce',
    })
    await page.getByRole('table').waitFor()
    await expectAccessible(page, 'projects')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page, 'create a project')
    for (const part of PARTS) {
      await openConsole(stage, page, `/projects/${id}${part}`)
      await settled(page)
      await expectAccessible(page, `project${part}`)
    }
    await page.getByRole('button', { name: /^Account:/ }).click()
    await page.getByRole('menuitem', { name: 'Your account' }).waitFor()
    await expectAccessible(page, 'switcher')
    await openConsole(stage, page, `/projects/${id}/keys`)
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByLabel('Every model of the project').uncheck()
    await page.getByLabel('svc-instant', { exact: true }).waitFor()
    await expectAccessible(page, 'create a key')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Revoke ours' }).click()
    await page.getByText('This ends 1 key').waitFor()
    await expectAccessible(page, 'revoke a key')
  })
})

test('on a phone nothing scrolls sideways, and every page of a project can be reached', async () => {
  const { id, name } = await newProject()
  const phone = { viewport: { width: 375, height: 780 }, isMobile: true, hasTouch: true }
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, '/organization/projects', phone)
  await page.getByRole('table').waitFor()
  await expectNoSideways(page, 'projects')
  await shot('phone-projects')
  await openConsole(stage, page, `/projects/${id}`)
  await heading(page, name).waitFor()
  for (const link of ['Keys', 'Members', 'Limits', 'Project']) {
    await page.getByRole('navigation').getByRole('link', { name: link, exact: true }).click()
    await settled(page)
    await expectNoSideways(page, link)
    await shot(`phone-project-${link.toLowerCase()}`)
  }
  await page.getByRole('button', { name: /^Account:/ }).click()
  await page.getByRole('menuitem', { name: 'Organization' }).click()
  await heading(page, 'Organization').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Projects' }).click()
  await heading(page, 'Projects').waitFor()
})

async function expectNoSideways(page: Page, where: string): Promise<void> {
  // A phone shows a page that is too wide smaller: only the screen's own width is a measure.
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  expect({ where, width }).toEqual({ where, width: page.viewportSize()!.width })
}
