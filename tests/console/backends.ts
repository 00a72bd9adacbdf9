/**
 * Backends and models, as those who run the gateway look at them.
 */

import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { newMember, ownerOf, visitAs } from './administer.ts'
import { expectAccessible } from './accessible.ts'
import { stage } from './shared-stage.ts'
import { heading, newKeyOwner, newName } from './visitor.ts'

type Fault = Parameters<typeof stage.backend.fail>[0]

function fail(fault: Fault): Disposable {
  const { cancel } = stage.backend.fail(fault)
  return { [Symbol.dispose]: cancel }
}

const cardOf = (page: Page, backend: string): Locator => page.getByRole('region', { name: backend, exact: true })
const stateOf = (page: Page, backend: string, state: string): Locator =>
  cardOf(page, backend).getByText(state, { exact: true }).first()

function sendTo(model: string, key: string): Promise<Response> {
  return fetch(`${stage.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: `Hello from ${newName()}` }] }),
  })
}

test('a backend that fails is seen on the open page, with the reason and since when', async () => {
  const { key } = await newKeyOwner(stage)
  const { page } = await visitAs(stage, `reader-${newName()}`, '/organization/backends')
  await stateOf(page, 'frail-1', 'usable').waitFor()
  using _fault = fail({ status: 500, backend: 'frail-1' })
  await expect
    .poll(
      async () => {
        await (await sendTo('frail-1', key)).arrayBuffer()
        return cardOf(page, 'frail-1').getByText('it returned HTTP 500').count()
      },
      { timeout: 30_000, interval: 250 },
    )
    .toBeGreaterThan(0)
  await cardOf(page, 'frail-1')
    .getByText(/since just now|since \d+ minutes? ago/)
    .first()
    .waitFor()
})

test('an owner reads the effect of a drain in numbers before it happens, and brings the backend back', async () => {
  const { key } = await newKeyOwner(stage)
  const name = `owner-${newName()}`
  const { page, shot } = await visitAs(stage, name, '/organization/backends')
  await page.getByRole('button', { name: 'Drain frail-2' }).click()
  const dialog = page.getByRole('dialog', { name: 'Drain frail-2?' })
  await dialog.getByText('No call is under way.').waitFor()
  await dialog.getByText('No backend of frail-2 is left.').waitFor()
  await shot('drain')
  await expectAccessible(page, 'drain')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect((await sendTo('frail-2', key)).status).toBe(200)

  await page.getByRole('button', { name: 'Drain frail-2' }).click()
  await dialog.getByRole('button', { name: 'Drain backend' }).click()
  await stateOf(page, 'frail-2', 'drained').waitFor()
  await cardOf(page, 'frail-2').getByText('an operator has drained it').waitFor()
  await expect.poll(async () => (await sendTo('frail-2', key)).status, { timeout: 20_000 }).toBe(503)
  await cardOf(page, 'frail-2').getByRole('link', { name }).waitFor()
  await shot('backend-drained')

  await page.getByRole('button', { name: 'Restore frail-2' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Restore backend' }).click()
  await stateOf(page, 'frail-2', 'usable').waitFor()
  await expect.poll(async () => (await sendTo('frail-2', key)).status, { timeout: 20_000 }).toBe(200)
})

test('a call under way is counted, on the card and in the dialog', async () => {
  using _fault = fail({ paceMs: 200, backend: 'frail-3' })
  const { key } = await newKeyOwner(stage)
  const { page } = await visitAs(stage, `owner-${newName()}`, '/organization/backends')
  const leave = new AbortController()
  const response = await fetch(`${stage.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'frail-3', stream: true, messages: [{ role: 'user', content: 'Say 300 words.' }] }),
    signal: leave.signal,
  })
  await response.body!.getReader().read()
  await cardOf(page, 'frail-3')
    .getByText(/^1 of \d+$/)
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Eject frail-3' }).click()
  await page.getByRole('dialog').getByText('1 call under way finishes.').waitFor()
  leave.abort()
})

test('an owner sees where each model goes, and whether that is well', async () => {
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, '/organization/models')
  await heading(page, 'Models and lanes').waitFor()
  const row = page.getByRole('row').filter({ hasText: 'svc-core' }).filter({ hasText: '3.75×' })
  await row.getByText('steady').first().waitFor()
  await page.getByLabel('Search models').fill('frail-4')
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await (await ownerOf(stage)).call('backends.drain', { backend_id: 'frail-4' })
  await page.getByRole('row').filter({ hasText: 'frail-4' }).getByText('drained').waitFor({ timeout: 30_000 })
  await (await ownerOf(stage)).call('backends.restore', { backend_id: 'frail-4' })
  await shot('configured-models')
})

test('a reader sees backends, models, people and admin keys without a button that changes anything', async () => {
  const member = await newMember(stage)
  await (await ownerOf(stage)).call('adminKeys.create', { name: `seen ${newName()}` })
  const { page } = await visitAs(stage, `reader-${newName()}`, '')
  const harmless = /^(Verify|Show more|Show older rows|Copy the address|Clear)$/
  for (const path of ['backends', 'models', 'users', `users/${member.id}`, 'audit', 'admin-keys']) {
    await page.goto(`${stage.gateway.url}/console/organization/${path}`)
    await page.locator('#content h1').waitFor()
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
    const buttons = await page.getByRole('main').getByRole('button').allInnerTexts()
    expect({ path, offered: buttons.filter((name) => !harmless.test(name)) }).toEqual({ path, offered: [] })
  }
})
