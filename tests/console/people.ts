/**
 * People and admin keys, as an owner of the organization looks after them.
 */

import { expect, test } from 'vitest'
import { administerAs, newMember, ownerOf, statusOf, visitAs } from './administer.ts'
import { stage } from './shared-stage.ts'
import { heading, newName } from './visitor.ts'

test('an owner finds a person, sees projects and keys, and revokes a leaked key', async () => {
  const owner = await ownerOf(stage)
  const member = await newMember(stage)
  const project = `Leaky ${newName()}`
  const { id: project_id } = await owner.call('projects.create', { name: project })
  await owner.call('projectUsers.create', { project_id, user_id: member.id, role: 'member' })
  const key = await (await administerAs(stage, member.name)).call('apiKeys.create', { project_id, name: 'leaked' })
  expect(await statusOf(stage, key.value)).toBe(200)

  const { page, shot } = await visitAs(stage, `owner-${newName()}`, '/organization/users')
  await page.getByLabel('Search by name or e-mail').fill(member.name)
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await page.getByRole('link', { name: member.name }).click()
  await heading(page, member.name).waitFor()
  const projects = page.getByRole('region', { name: 'Projects of the person' })
  await projects.getByRole('row').filter({ hasText: project }).getByText('member').waitFor()
  await page.getByRole('button', { name: 'Revoke leaked' }).click()
  const dialog = page.getByRole('dialog', { name: 'Revoke leaked?' })
  await dialog.getByText('This ends 1 key').waitFor()
  await shot('revoke-leaked')
  await dialog.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('This person has no live key.').waitFor()
  expect(await statusOf(stage, key.value)).toBe(401)
})

test('an admin key is shown once, administers the gateway, and is refused once it is revoked', async () => {
  const statusWith = async (value: string) =>
    (await fetch(`${stage.gateway.url}/v1/organization/users`, { headers: { authorization: `Bearer ${value}` } }))
      .status
  const name = `Terraform ${newName()}`
  const { page, shot } = await visitAs(stage, `owner-${newName()}`, '/organization/admin-keys')
  await page.getByRole('button', { name: 'Create admin key' }).click()
  const form = page.getByRole('dialog', { name: 'Create an admin key' })
  await form.getByLabel('Name').fill(name)
  await form.getByLabel('Expires').selectOption('In 30 days')
  await form.getByRole('button', { name: 'Create' }).click()
  const value = await page.getByLabel('The key', { exact: true }).innerText()
  expect(value).toMatch(/^svc_admin_/)
  await shot('admin-key')
  expect(await statusWith(value)).toBe(200)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  expect(await page.content()).not.toContain(value)

  const row = page.getByRole('row').filter({ hasText: name })
  await row.getByRole('button', { name: `Revoke ${name}` }).click()
  await page.getByRole('dialog').getByText('This ends 1 admin key').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click()
  await row.waitFor({ state: 'detached' })
  expect(await statusWith(value)).toBe(401)
})
