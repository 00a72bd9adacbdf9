/**
 * Projects, as the organization's owners and a project's members lead them.
 */

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { newMember, ownerOf, send, statusOf, visitAs } from './administer.ts'
import { stage } from './shared-stage.ts'
import { heading, newName } from './visitor.ts'

const dialogOf = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name })

async function newValue(page: Page): Promise<string> {
  const value = await page.getByLabel('The key', { exact: true }).innerText()
  expect(value).toMatch(/^svc_[0-9A-Za-z]{54}$/)
  return value
}

test('an owner creates a project, finds it in the list and opens it', async () => {
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, '')
  await page.getByRole('group', { name: 'Organization' }).getByRole('link', { name: 'Projects' }).click()
  await heading(page, 'Projects').waitFor()
  const name = `Search ${newName()}`
  await page.getByRole('button', { name: 'Create project' }).click()
  const form = dialogOf(page, 'Create a project')
  await form.getByLabel('Name').fill(name)
  await form.getByLabel('Plan').selectOption('tiny')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await heading(page, name).waitFor()
  await page.getByText('0 tokens of 10,000 tokens').waitFor()
  await shot('project-new')
  await page.goBack()
  await page.getByLabel('Search by name or id').fill(name.toUpperCase())
  await page.getByRole('row').filter({ hasText: name }).getByText('tiny').waitFor()
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await page.getByRole('link', { name }).click()
  await heading(page, name).waitFor()
})

test('a key of a project is created with its limits, shown once, changed, rotated and revoked', async () => {
  const owner = await ownerOf(stage)
  const { id } = await owner.call('projects.create', { name: `Keys ${newName()}` })
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, `/projects/${id}/keys`)
  await page.getByRole('button', { name: 'Create key' }).click()
  const form = dialogOf(page, 'Create a key')
  await form.getByLabel('Name').fill('laptop')
  await form.getByLabel('Expires').selectOption('In 30 days')
  await form.getByLabel('Requests a minute').fill('2')
  await form.getByLabel('Every model of the project').uncheck()
  await form.getByLabel('svc-instant', { exact: true }).check()
  await shot('project-key-form')
  await form.getByRole('button', { name: 'Create key' }).click()
  const value = await newValue(page)
  expect(await statusOf(stage, value)).toBe(200)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  expect(await page.content()).not.toContain(value)
  const row = page.getByRole('row').filter({ hasText: 'laptop' })
  await row.getByText('2 requests a minute, svc-instant').waitFor()
  const [key] = (await owner.call('apiKeys.list', { project_id: id })).data
  expect(key!.expires_at! - key!.created_at).toBe(30 * 86_400)

  await page.getByRole('button', { name: 'Change laptop' }).click()
  const change = dialogOf(page, 'Change laptop')
  await change.getByLabel('Name').fill('desktop')
  await change.getByLabel('Requests a minute').fill('')
  await change.getByLabel('Tokens a minute').fill('5000')
  await change.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('row').filter({ hasText: 'desktop' }).getByText('5,000 tokens a minute').waitFor()
  expect((await owner.call('apiKeys.list', { project_id: id })).data).toMatchObject([
    { name: 'desktop', max_requests_per_1_minute: null, models: ['svc-instant'], expires_at: key!.expires_at },
  ])

  await page.getByRole('button', { name: 'Rotate desktop' }).click()
  await dialogOf(page, 'Rotate desktop?').getByRole('button', { name: 'Rotate key' }).click()
  await page.getByText('The value of desktop').waitFor()
  const fresh = await newValue(page)
  expect(fresh).not.toBe(value)
  expect([await statusOf(stage, value), await statusOf(stage, fresh)]).toEqual([401, 200])

  await page.getByRole('button', { name: 'Revoke desktop' }).click()
  const revoke = dialogOf(page, 'Revoke desktop?')
  await revoke.getByText('This ends 1 key; no request is open.').waitFor()
  await revoke.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('The project has no key.').waitFor()
  expect(await statusOf(stage, fresh)).toBe(401)
})

test('a destructive step says how many keys it ends and how many open requests it cuts off, and does just that', async () => {
  stage.backend.setSpeed({ tokensPerSecond: 5 })
  using _fast = { [Symbol.dispose]: () => stage.backend.setSpeed({ tokensPerSecond: 400 }) }
  const owner = await ownerOf(stage)
  const name = `Ends ${newName()}`
  const { id } = await owner.call('projects.create', { name })
  const robot = await owner.call('serviceAccounts.create', { project_id: id, name: 'nightly' })
  const { value } = await owner.call('apiKeys.create', { project_id: id, name: 'idle' })
  const streams = await Promise.all([1, 2, 3].map(() => send(stage, robot.api_key!.value, true)))
  const ends = streams.map((response) => response.text().catch(() => 'cut'))

  const { page, shot } = await visitAs(stage, `owner-${newName()}`, `/projects/${id}`)
  await page.getByRole('button', { name: 'Archive' }).click()
  const dialog = dialogOf(page, `Archive ${name}?`)
  await dialog.getByText('This ends 2 keys; 3 open requests are cut off.').waitFor()
  await shot('project-archive')
  await dialog.getByRole('button', { name: 'Cancel' }).click()

  await openProject(page, id, 'keys')
  await page.getByRole('button', { name: 'Delete nightly' }).click()
  const remove = dialogOf(page, 'Delete nightly?')
  await remove.getByText('This ends 1 key; 3 open requests are cut off.').waitFor()
  await remove.getByRole('button', { name: 'Delete service account' }).click()
  for (const text of await Promise.all(ends)) expect(text).not.toContain('[DONE]')
  expect([await statusOf(stage, robot.api_key!.value), await statusOf(stage, value)]).toEqual([401, 200])

  await openProject(page, id)
  await page.getByRole('button', { name: 'Archive' }).click()
  await dialog.getByText('This ends 1 key; no request is open.').waitFor()
  await dialog.getByRole('button', { name: 'Archive project' }).click()
  await page.getByText('archived', { exact: true }).waitFor()
  expect(await statusOf(stage, value)).toBe(401)
  await dialog.waitFor({ state: 'hidden' })
  expect(await page.getByRole('button', { name: 'Archive' }).count()).toBe(0)
})

test('members come and go: a removed person’s keys end, and the step says so', async () => {
  const owner = await ownerOf(stage)
  const { id } = await owner.call('projects.create', { name: `Members ${newName()}` })
  const ada = await newMember(stage)
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, `/projects/${id}/members`)
  await page.getByRole('button', { name: 'Add a person' }).click()
  await page.getByLabel('E-mail').fill(ada.email)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('row').filter({ hasText: ada.name }).getByText('member', { exact: true }).waitFor()

  const visit = await visitAs(stage, ada.name, `/projects/${id}/keys`)
  await visit.page.getByRole('button', { name: 'Create key' }).click()
  await visit.page.getByLabel('Name').fill('mine')
  await dialogOf(visit.page, 'Create a key').getByRole('button', { name: 'Create key' }).click()
  const value = await newValue(visit.page)
  expect(await statusOf(stage, value)).toBe(200)

  await page.getByRole('button', { name: 'Add a group' }).click()
  await page.getByLabel('Name').fill('search-team')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('row').filter({ hasText: 'search-team' }).waitFor()
  await shot('project-members')
  await page.getByRole('button', { name: `Remove ${ada.name}` }).click()
  const remove = dialogOf(page, `Remove ${ada.name}?`)
  await remove.getByText('This ends 1 key; no request is open.').waitFor()
  await remove.getByRole('button', { name: 'Remove member' }).click()
  await page.getByText('Nobody is a member as a person.').waitFor()
  expect(await statusOf(stage, value)).toBe(401)
})

test('an owner finds the project that has reached its limit, raises it, and its requests go on', async () => {
  const owner = await ownerOf(stage)
  const name = `Full ${newName()}`
  const { id } = await owner.call('projects.create', { name })
  await owner.call('spendLimit.update', { project_id: id, allowance: 1 })
  const { api_key: key } = await owner.call('serviceAccounts.create', { project_id: id, name: 'nightly' })
  expect(await statusOf(stage, key!.value)).toBe(200)
  await expect.poll(() => statusOf(stage, key!.value), { timeout: 20_000, interval: 250 }).toBe(402)

  const { page, shot } = await visitAs(stage, `owner-${newName()}`, '/organization/projects')
  const first = page.getByRole('row').filter({ hasText: name })
  await expect
    .poll(
      async () => {
        await page.reload()
        await page.getByRole('table').waitFor()
        return first.getByRole('meter').getAttribute('aria-valuenow')
      },
      { timeout: 20_000, interval: 500 },
    )
    .toBe('100')
  await shot('projects')
  await first.getByRole('link', { name }).click()
  await page.getByText('The limit is the project’s own spend limit.').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Limits' }).click()
  await page.getByText('It is reached: requests are refused.').waitFor()
  const card = page.getByRole('region', { name: 'Spend limit' })
  await card.getByRole('button', { name: 'Change' }).click()
  await page.getByLabel('Tokens of allowance').fill('500000')
  await page.getByRole('button', { name: 'Save' }).click()
  await card.getByText('500,000 tokens').waitFor()
  expect(await statusOf(stage, key!.value)).toBe(200)
  await shot('project-limits')
})

test('limits of a project are changed where they stand: plan, models, rates and alerts', async () => {
  const owner = await ownerOf(stage)
  const { id: project_id } = await owner.call('projects.create', { name: `Limits ${newName()}` })
  const { page } = await visitAs(stage, `owner-${newName()}`, `/projects/${project_id}/limits`)
  await page.getByRole('button', { name: 'Change plan' }).click()
  const plan = dialogOf(page, 'Change the plan')
  await plan.getByLabel('Plan').selectOption('slow')
  await plan.getByLabel('Overage').selectOption('on')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect
    .poll(() => owner.call('accounts.retrieve', { account_id: project_id }))
    .toMatchObject({
      plan: 'slow',
      overage: true,
    })

  await page.getByRole('button', { name: 'Limit the models' }).click()
  await page.getByLabel('svc-fast', { exact: true }).check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Only these: svc-fast').waitFor()
  await page.getByRole('button', { name: 'Permit every model' }).click()
  await page.getByText('Every model of the plan.').waitFor()

  await page.getByRole('button', { name: 'Change svc-instant', exact: true }).click()
  await page.getByLabel('Requests a minute').fill('1')
  await page.getByRole('button', { name: 'Save' }).click()
  await dialogOf(page, 'Limits of svc-instant').waitFor({ state: 'hidden' })
  const rates = await owner.call('rateLimits.list', { project_id, limit: '100' })
  expect(rates.data.find(({ model }) => model === 'svc-instant')).toMatchObject({ max_requests_per_1_minute: 1 })

  await page.getByRole('button', { name: 'Add an alert' }).click()
  await page.getByLabel('At tokens of allowance a month').fill('1000')
  await page.getByLabel('Recipients').fill('team@example.com, lead@example.com')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page
    .getByRole('row')
    .filter({ hasText: 'team@example.com, lead@example.com' })
    .getByText('1,000 tokens')
    .waitFor()
  await page.getByRole('button', { name: 'Delete the alert at 1,000 tokens' }).click()
  await expect.poll(async () => (await owner.call('projectSpendAlerts.list', { project_id })).data).toEqual([])
})

test("a project's owner switches overage, knows its effect in numbers, and a member sees no such button", async () => {
  const owner = await ownerOf(stage)
  const { id: project_id } = await owner.call('projects.create', { name: `Overage ${newName()}`, plan: 'flexible' })
  const [ada, bob] = [await newMember(stage), await newMember(stage)]
  await owner.call('projectUsers.create', { project_id, user_id: ada.id, role: 'owner' })
  await owner.call('projectUsers.create', { project_id, user_id: bob.id, role: 'member' })

  const { page, shot } = await visitAs(stage, ada.name, `/projects/${project_id}/limits`)
  await page.getByText('Limit of the month').waitFor()
  expect(await page.getByRole('button', { name: /overage/ }).count()).toBe(0)
  await owner.call('spendLimit.update', { project_id, allowance: 20_000 })
  await page.reload()
  await page.getByRole('button', { name: 'Switch overage on' }).click()
  const dialog = dialogOf(page, 'Switch overage on?')
  await dialog.getByText(/beyond 10,000 tokens are served and billed, up to the spend limit of 20,000 tokens/).waitFor()
  await shot('project-overage')
  await dialog.getByRole('button', { name: 'Switch overage on' }).click()
  await dialog.waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Switch overage off' }).waitFor()
  expect(await owner.call('accounts.retrieve', { account_id: project_id })).toMatchObject({ overage: true })

  const visit = await visitAs(stage, bob.name, `/projects/${project_id}/limits`)
  await visit.page.getByText('Limit of the month').waitFor()
  expect(await visit.page.getByRole('button', { name: /overage/ }).count()).toBe(0)
})

test('the usage of a project is shown by key, by model and by tag', async () => {
  const owner = await ownerOf(stage)
  const { id: project_id } = await owner.call('projects.create', { name: `Usage ${newName()}` })
  const { value } = await owner.call('apiKeys.create', { project_id, name: 'tagged' })
  const response = await fetch(`${stage.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${value}`,
      'content-type': 'application/json',
      'x-svc-tags': 'team=search',
    },
    body: JSON.stringify({ model: 'svc-instant', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  await response.arrayBuffer()
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, `/projects/${project_id}`)
  await expect
    .poll(
      async () => {
        await page.reload()
        await page.getByText('Usage this month').waitFor()
        await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
        return page.getByRole('row').filter({ hasText: 'tagged' }).count()
      },
      { timeout: 20_000, interval: 500 },
    )
    .toBe(1)
  await shot('project-usage')
  for (const [by, name] of [
    ['Model', 'svc-instant'],
    ['Tag', 'team=search'],
  ] as const) {
    await page.getByText(by, { exact: true }).click()
    await page.getByRole('row').filter({ hasText: name }).waitFor()
  }
})

test('a long list of keys is searched and paged on the gateway', async () => {
  const owner = await ownerOf(stage)
  const { id: project_id } = await owner.call('projects.create', { name: `Many ${newName()}` })
  for (let index = 0; index < 60; index++) await owner.call('apiKeys.create', { project_id, name: `job ${index}` })
  const { page } = await visitAs(stage, `owner-${newName()}`, '')
  const calls: string[] = []
  page.on('request', (request) => {
    if (/\/(admin\/v1|v1\/organization)\//.test(request.url())) calls.push(new URL(request.url()).pathname)
  })
  await openProject(page, project_id, 'keys')
  await page.getByRole('button', { name: 'Revoke job 59', exact: true }).waitFor()
  // One call for each list, at any number of rows.
  expect(calls).toHaveLength(new Set(calls).size)
  expect(calls.length).toBeLessThanOrEqual(5)
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByRole('button', { name: 'Revoke job 0', exact: true }).waitFor()
  await expect.poll(() => page.getByRole('button', { name: /^Revoke job/ }).count()).toBe(60)
  await page.getByLabel('Search keys').fill('job 17')
  await expect.poll(() => page.getByRole('button', { name: /^Revoke job/ }).count()).toBe(1)
  await page.getByLabel('Search keys').fill('nothing')
  await page.getByText('No key has such a name or beginning.').waitFor()
})

async function openProject(page: Page, id: string, part?: string): Promise<void> {
  await page.goto(`${stage.gateway.url}/console/projects/${id}${part ? `/${part}` : ''}`)
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
}
