/**
 * The overview of the organization, which follows the gateway while somebody looks at it.
 */

import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { expectAccessible } from './accessible.ts'
import { ownerOf, statusOf, visitAs } from './administer.ts'
import { stage } from './shared-stage.ts'
import { heading, newName } from './visitor.ts'

const PAGE = '/organization'
/** Above the page's own interval, on a loaded machine. */
const SOON = { timeout: 30_000, interval: 250 }

interface Team {
  name: string
  id: string
  key: string
}

async function newTeam(): Promise<Team> {
  const owner = await ownerOf(stage)
  const name = `Team ${newName()}`
  const { id } = await owner.call('projects.create', { name, plan: 'payg' })
  const { api_key } = await owner.call('serviceAccounts.create', { project_id: id, name: 'nightly' })
  return { name, id, key: api_key!.value }
}

/** Of the figures by project: the text of each cell. */
async function cellsOf(page: Page, { name }: Team): Promise<string[]> {
  const row = page.getByRole('region', { name: 'Figures by project' }).getByRole('row').filter({ hasText: name })
  return (await row.count()) === 0 ? [] : row.getByRole('cell').allInnerTexts()
}

const chooses = (page: Page, group: string, name: string) =>
  page.getByRole('radiogroup', { name: group }).getByText(name, { exact: true }).click()

test('an owner sees a team’s requests, spend and errors come without a reload, in each window', async () => {
  const team = await newTeam()
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, '')
  await page.getByRole('group', { name: 'Organization' }).getByRole('link', { name: 'Overview' }).click()
  await heading(page, 'Organization').waitFor()
  await page.getByRole('img', { name: /^Requests a minute/ }).waitFor()
  expect(await cellsOf(page, team)).toEqual([])
  await page.evaluate(() => Object.assign(window, { isSameDocument: true }))

  expect(await statusOf(stage, team.key)).toBe(200)
  await expect.poll(async () => (await cellsOf(page, team))[1], SOON).toBe('1')
  await expect.poll(async () => (await cellsOf(page, team))[0], SOON).toMatch(/^\$0\.\d+$/)
  const permissions = { project_id: team.id, mode: 'deny_list', model_ids: ['svc-instant'] }
  await (await ownerOf(stage)).call('modelPermissions.update', permissions)
  await expect.poll(() => statusOf(stage, team.key), SOON).toBe(429)
  await expect.poll(async () => Number((await cellsOf(page, team))[2]), SOON).toBeGreaterThan(0)
  await page.getByRole('region', { name: 'Errors by code' }).getByText('rate_limit_exceeded').waitFor()
  await shot('organization-overview')

  for (const [name, bucket] of [
    ['Day', 'hour'],
    ['Month', 'day'],
  ] as const) {
    await chooses(page, 'Window', name)
    await page.getByRole('img', { name: new RegExp(`^Requests a ${bucket}`) }).waitFor()
    await expect.poll(async () => (await cellsOf(page, team))[0], SOON).toMatch(/^\$0\.\d+$/)
  }
  await chooses(page, 'Figures by', 'Model')
  await page.getByRole('region', { name: 'Figures by model' }).getByText('svc-instant').waitFor()
  await chooses(page, 'Figures by', 'Backend')
  await page.getByRole('region', { name: 'Figures by backend' }).getByText('steady').waitFor()
  await page.getByRole('button', { name: 'Table' }).click()
  await page.getByRole('region', { name: 'Figures by day' }).getByRole('row').nth(31).waitFor()
  expect(await page.evaluate(() => 'isSameDocument' in window)).toBe(true)
})

test('a project of the overview opens', async () => {
  const team = await newTeam()
  expect(await statusOf(stage, team.key)).toBe(200)
  const { page } = await visitAs(stage, `owner-${newName()}`, PAGE)
  await page.getByRole('link', { name: team.name }).click()
  await heading(page, team.name).waitFor()
})

test('a reader sees the overview, and a person without a role does not', async () => {
  const { page } = await visitAs(stage, `reader-${newName()}`, PAGE)
  await page.getByRole('img', { name: /^Requests a minute/ }).waitFor()
  const { page: stranger } = await visitAs(stage, newName(), PAGE)
  await stranger.getByRole('alert').getByText('This page is for those who run the gateway').waitFor()
})

test('a tab that nobody sees fetches nothing, and catches up when it is seen again', async () => {
  const { page } = await visitAs(stage, `owner-${newName()}`, PAGE)
  await page.getByRole('img', { name: /^Requests a minute/ }).waitFor()
  let fetched = 0
  page.on('request', (request) => (fetched += request.url().includes('/admin/v1/overview') ? 1 : 0))
  await expect.poll(() => fetched, SOON).toBeGreaterThan(0)
  await see(page, 'hidden')
  // A fetch of before may still begin.
  await page.waitForTimeout(1_000)
  const before = fetched
  await page.waitForTimeout(11_000)
  expect(fetched).toBe(before)
  await see(page, 'visible')
  await expect.poll(() => fetched, SOON).toBeGreaterThan(before)
})

/** As the browser reports a tab that goes to the background, and one that comes back. */
async function see(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate((visibilityState) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => visibilityState })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  }, state)
}

describe.each(['light', 'dark'] as const)('in the %s scheme', (colorScheme) => {
  test('axe finds nothing on the overview, as a chart and as a table', async () => {
    const team = await newTeam()
    expect(await statusOf(stage, team.key)).toBe(200)
    const options = { colorScheme, reducedMotion: 'reduce' } as const
    const { page, shot } = await visitAs(stage, `owner-${newName()}`, PAGE, options)
    await expect.poll(() => cellsOf(page, team), SOON).not.toEqual([])
    await expectAccessible(page, 'overview')
    await shot(`organization-overview-${colorScheme}`)
    await page.getByRole('button', { name: 'Table' }).click()
    await chooses(page, 'Figures by', 'Backend')
    await page.getByRole('region', { name: 'Figures by backend' }).waitFor()
    await expectAccessible(page, 'overview as tables')
  })
})

test('on a phone nothing of the overview scrolls sideways', async () => {
  const team = await newTeam()
  expect(await statusOf(stage, team.key)).toBe(200)
  const phone = { viewport: { width: 375, height: 780 }, isMobile: true, hasTouch: true }
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, PAGE, phone)
  await expect.poll(() => cellsOf(page, team), SOON).not.toEqual([])
  const beyond = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  expect(await beyond()).toBeLessThanOrEqual(0)
  await shot('phone-organization-overview')
  await page.getByRole('button', { name: 'Table' }).click()
  await page.getByRole('region', { name: /^Figures by minute/ }).waitFor()
  expect(await beyond()).toBeLessThanOrEqual(0)
})
