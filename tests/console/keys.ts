/**
 * The key's life, as its owner leads it.
 */

import { expect, test } from 'vitest'
import { stage } from './shared-stage.ts'
import { goTo, newKeyOwner, newVisitor, shownKey } from './visitor.ts'

async function statusWith(key: string): Promise<number> {
  const response = await fetch(`${stage.gateway.url}/billing/quota`, { headers: { authorization: `Bearer ${key}` } })
  await response.arrayBuffer()
  return response.status
}

test('a key is created, shown with a way to copy it, and put away', async () => {
  const { page, key } = await newKeyOwner(stage, { permissions: ['clipboard-read', 'clipboard-write'] })
  expect(await statusWith(key)).toBe(200)
  expect(await page.content()).not.toContain(key)
  await goTo(page, 'Keys')
  const listed = `${key.slice(0, 12)}…`
  await page.getByRole('row').filter({ hasText: listed }).getByText('active').waitFor()

  await page.getByRole('button', { name: 'Show key' }).click()
  expect(await shownKey(page)).toBe(key)
  await page.getByRole('button', { name: 'Copy key' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  expect(await page.content()).not.toContain(key)
})

test('rotating warns first, changes nothing when it is cancelled, and then kills the old key', async () => {
  const { page, shot, key } = await newKeyOwner(stage)
  await goTo(page, 'Keys')
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Rotate this key?' })
  await dialog.getByText('stops working at once').waitFor()
  await shot('rotate')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  expect(await statusWith(key)).toBe(200)

  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  await dialog.getByRole('button', { name: 'Rotate key' }).click()
  const fresh = await shownKey(page)
  expect(fresh).not.toBe(key)
  expect([await statusWith(key), await statusWith(fresh)]).toEqual([401, 200])
  const rows = page.getByRole('table').getByRole('row')
  await rows
    .filter({ hasText: key.slice(0, 12) })
    .getByText('deactivated')
    .waitFor()
  await rows
    .filter({ hasText: fresh.slice(0, 12) })
    .getByText('active', { exact: true })
    .waitFor()
  await shot('keys')
})

test('revoking warns first, then kills the key and offers a new one', async () => {
  const { page, shot, key } = await newKeyOwner(stage)
  await goTo(page, 'Keys')
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Revoke this key?' })
  await dialog.getByText('for good').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(await statusWith(key)).toBe(200)

  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await dialog.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('You have no active key').waitFor()
  expect(await statusWith(key)).toBe(401)
  await shot('keys-revoked')
  await page.getByRole('button', { name: 'Create key' }).click()
  expect(await statusWith(await shownKey(page))).toBe(200)
})

test('a key that replaced the visible one is not revoked in its place', async () => {
  const { page, key } = await newKeyOwner(stage)
  await goTo(page, 'Keys')
  const token = await tokenOf(page)
  const rotated = await fetch(`${stage.gateway.url}/v1/keys/developer/rotate`, {
    method: 'POST',
    headers: { authorization: token, 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  })
  const { key: current } = (await rotated.json()) as { key: string }

  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByRole('alert').getByText('Your key was changed somewhere else').waitFor()
  await page.getByRole('table').getByText(current.slice(0, 12)).waitFor()
  expect(await statusWith(current)).toBe(200)
})

test.each(['Show key', 'Rotate', 'Revoke'])('%s makes no key for someone who revoked theirs elsewhere', async (act) => {
  const { page, key } = await newKeyOwner(stage)
  await goTo(page, 'Keys')
  const token = await tokenOf(page)
  const headers = { authorization: token, 'content-type': 'application/json' }
  const address = `${stage.gateway.url}/v1/keys/developer`
  await fetch(`${address}/revoke`, { method: 'POST', headers, body: JSON.stringify({ key }) })

  await page.getByRole('button', { name: act, exact: true }).click()
  if (act !== 'Show key') await page.getByRole('button', { name: `${act} key` }).click()
  await page.getByText('You have no active key').waitFor()
  const listed = (await (await fetch(address, { headers })).json()) as { data: { status: string }[] }
  expect(listed.data.map(({ status }) => status)).toEqual(['deactivated'])
})

test('the list says when a key was used last', async () => {
  const { page, key } = await newKeyOwner(stage)
  await goTo(page, 'Keys')
  await page.getByRole('cell', { name: 'never' }).waitFor()
  const response = await fetch(`${stage.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-instant', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  await response.arrayBuffer()
  await expect
    .poll(
      async () => {
        await page.reload()
        await page.getByRole('table').waitFor()
        return page.getByRole('table').innerText()
      },
      { timeout: 20_000, interval: 500 },
    )
    .toContain('just now')
})

test('a visitor who has never had a key is invited on every page that needs one', async () => {
  const { page } = await newVisitor(stage)
  await goTo(page, 'Keys')
  await page.getByText('Create your first key').waitFor()
  await goTo(page, 'Playground')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Send a message').waitFor()
})

/** Returns the `authorization` that the page sends. */
async function tokenOf(page: Awaited<ReturnType<typeof newVisitor>>['page']): Promise<string> {
  const requested = page.waitForRequest((request) => request.url().endsWith('/v1/keys/developer'))
  await page.reload()
  return (await (await requested).allHeaders())['authorization']!
}
