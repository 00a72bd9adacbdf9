/**
 * The audit log, as somebody reads it who looks for a change.
 */

import { expect, test } from 'vitest'
import { ownerOf, visitAs } from './administer.ts'
import { stage } from './shared-stage.ts'
import { heading, newName } from './visitor.ts'

test('a reader finds a change by its event and project, opens it, and sends its address to a colleague', async () => {
  const owner = await ownerOf(stage)
  const name = `Found ${newName()}`
  const { id } = await owner.call('projects.create', { name })
  await owner.call('projects.update', { project_id: id, name: `${name} again` })
  const { page, shot } = await visitAs(stage, `reader-${newName()}`, '/organization/audit')
  await page.getByLabel('Event').selectOption('Project updated')
  await page.getByLabel('Project', { exact: true }).fill(id)
  const rows = page.getByRole('list', { name: 'Rows of the audit log' }).getByRole('listitem')
  await expect.poll(() => rows.count()).toBe(1)
  await rows.first().locator('summary').click()
  const changed = rows.first().getByRole('row').filter({ hasText: 'name' })
  await changed.getByText(name, { exact: true }).waitFor()
  await changed.getByText(`${name} again`).waitFor()
  await shot('audit-row')
  await rows.first().getByRole('link', { name: 'Permalink' }).click()
  await heading(page, 'Project updated').waitFor()

  const colleague = await visitAs(stage, `reader-${newName()}`, new URL(page.url()).pathname.replace('/console', ''))
  await heading(colleague.page, 'Project updated').waitFor()
  await colleague.page
    .getByRole('row')
    .filter({ hasText: `${name} again` })
    .waitFor()
})

test('filters stay in the address, and one click clears them', async () => {
  await (await ownerOf(stage)).call('projects.create', { name: `Kept ${newName()}` })
  const { page } = await visitAs(stage, `reader-${newName()}`, '/organization/audit?type=user.deleted&actor=nobody')
  await page.getByText('No row matches.').waitFor()
  expect(await page.getByLabel('Actor').inputValue()).toBe('nobody')
  await page.getByLabel('From').fill('2020-01-01')
  await expect.poll(() => page.url()).toContain('from=2020-01-01')
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.locator('summary', { hasText: 'Project created' }).first().waitFor()
  expect(new URL(page.url()).search).toBe('')
})

test('an actor of many rows is a click away', async () => {
  const owner = await ownerOf(stage)
  const { id } = await owner.call('projects.create', { name: `Acted ${newName()}` })
  const { page } = await visitAs(stage, `reader-${newName()}`, `/organization/audit?project=${id}`)
  const row = page.getByRole('list', { name: 'Rows of the audit log' }).getByRole('listitem').first()
  await row.locator('summary').click()
  await row.getByRole('link', { name: /owner-behind/ }).click()
  await expect.poll(() => page.getByLabel('Actor').inputValue()).toMatch(/^user-/)
})

test('the chain verifies on the page, and a wrong row is named', async () => {
  await (await ownerOf(stage)).call('projects.create', { name: `Chained ${newName()}` })
  const { page } = await visitAs(stage, `reader-${newName()}`, '/organization/audit')
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText(/^All [\d,]+ rows are as the gateway wrote them\.$/).waitFor()

  await page.route('**/admin/v1/audit_logs/verify*', async (route) => {
    const verified = (await (await route.fetch()).json()) as object
    const problem = { kind: 'changed', id: 'audit_log-0000000000000001', message: 'its hash is another one' }
    await route.fulfill({ json: { ...verified, problem } })
  })
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText('A row was changed').waitFor()
  await page.getByRole('link', { name: 'audit_log-0000000000000001' }).waitFor()
})
