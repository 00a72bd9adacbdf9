/**
 * A day of somebody who runs the gateway, in one browser from the sign-in on. A project is at its limit, a backend fails, and a key
 * has leaked. The audit log has all of it, and the day's export adds up to the overview.
 */

import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { formatUsd } from '../../services/console/src/core/format.ts'
import { type ExportedRow, readExported } from '../../services/metering/test/exported.ts'
import { type Administrator, administerAs, newMember, ownerOf, statusOf, visitAs } from './administer.ts'
import { useStage } from './stage.ts'
import { heading, newName } from './visitor.ts'

const FILES = join(tmpdir(), `gateway-day-${randomUUID()}`)
const stage = useStage({ sections: { exports: [{ id: 'day', to: pathToFileURL(FILES).href, format: 'ndjson' }] } })
afterAll(() => rm(FILES, { recursive: true, force: true }))

const SOON = { timeout: 60_000, interval: 250 }
const NANO_PER_USD = 1e9
const MILLI_PER_TOKEN = 1_000

interface Team {
  id: string
  name: string
  key: string
}

async function newTeam(owner: Administrator, name: string, plan?: string): Promise<Team> {
  const { id } = await owner.call('projects.create', { name, ...(plan !== undefined && { plan }) })
  const { api_key } = await owner.call('serviceAccounts.create', { project_id: id, name: 'nightly' })
  return { id, name, key: api_key!.value }
}

const open = (page: Page, name: string) =>
  page.getByRole('group', { name: 'Organization' }).getByRole('link', { name, exact: true }).click()

test('an operator raises a limit, drains a backend, revokes a leaked key, reads it all, and the day adds up', async () => {
  const behind = await ownerOf(stage)
  const [full, paid] = [await newTeam(behind, `Full ${newName()}`), await newTeam(behind, `Paid ${newName()}`, 'payg')]
  await behind.call('spendLimit.update', { project_id: full.id, allowance: 1 })
  const member = await newMember(stage)
  await behind.call('projectUsers.create', { project_id: paid.id, user_id: member.id, role: 'member' })
  const colleague = await administerAs(stage, member.name)
  const leaked = await colleague.call('apiKeys.create', { project_id: paid.id, name: 'leaked' })
  for (const key of [full.key, paid.key, paid.key, leaked.value]) expect(await statusOf(stage, key)).toBe(200)
  await expect.poll(() => statusOf(stage, full.key), SOON).toBe(402)

  const name = `owner-${newName()}`
  const { page, shot } = await visitAs(stage, name, '')
  await raiseLimit(page, full)
  expect(await statusOf(stage, full.key)).toBe(200)
  await drainFailing(page, full.key)
  await revokeLeaked(page, member.name)
  expect(await statusOf(stage, leaked.value)).toBe(401)

  await open(page, 'Audit')
  await page.getByLabel('Actor').fill(`${name}@example.com`)
  const rows = page.getByRole('list', { name: 'Rows of the audit log' }).getByRole('listitem')
  await expect.poll(() => rows.count(), SOON).toBe(3)
  const events = await rows.locator('summary').allInnerTexts()
  for (const [index, event] of ['API key deleted', 'Backend updated', 'Project updated'].entries())
    expect(events[index]).toContain(event)
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText(/^All [\d,]+ rows are as the gateway wrote them\.$/).waitFor()
  await shot('day-audit')

  const exported = await exportDay(behind)
  const overview = await behind.call('overview.show', { window: 'day' })
  expect([overview.spend_usd, overview.spend_tokens]).toEqual([sumOf(exported, 'usd'), sumOf(exported, 'tokens')])
  await open(page, 'Overview')
  await page.getByRole('radiogroup', { name: 'Window' }).getByText('Day', { exact: true }).click()
  const figures = page
    .getByRole('region', { name: 'Figures by project' })
    .getByRole('row')
    .filter({ hasText: paid.name })
  const spent = sumOf(
    exported.filter(({ account }) => paid.id.endsWith(account)),
    'usd',
  )
  expect(spent).toBeGreaterThan(0)
  await expect.poll(async () => (await figures.getByRole('cell').allInnerTexts())[0], SOON).toBe(formatUsd(spent))
  await shot('day-overview')
})

async function raiseLimit(page: Page, { name }: Team): Promise<void> {
  await open(page, 'Projects')
  const row = page.getByRole('row').filter({ hasText: name })
  await expect
    .poll(async () => {
      await page.reload()
      await page.getByRole('table').waitFor()
      return row.getByRole('meter').getAttribute('aria-valuenow')
    }, SOON)
    .toBe('100')
  await row.getByRole('link', { name }).click()
  await page.getByText('The limit is the project’s own spend limit.').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Limits' }).click()
  await page.getByText('It is reached: requests are refused.').waitFor()
  const card = page.getByRole('region', { name: 'Spend limit' })
  await card.getByRole('button', { name: 'Change' }).click()
  await page.getByLabel('Tokens of allowance').fill('500000')
  await page.getByRole('button', { name: 'Save' }).click()
  await card.getByText('500,000 tokens').waitFor()
}

async function drainFailing(page: Page, key: string): Promise<void> {
  const fault = stage.backend.fail({ status: 500, backend: 'frail-1' })
  await open(page, 'Backends')
  const card = page.getByRole('region', { name: 'frail-1', exact: true })
  await expect
    .poll(async () => {
      await requestOf('frail-1', key)
      return card.getByText('it returned HTTP 500').count()
    }, SOON)
    .toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Drain frail-1' }).click()
  await page.getByRole('dialog').getByText('No backend of frail-1 is left.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Drain backend' }).click()
  await card.getByText('drained', { exact: true }).first().waitFor()
  fault.cancel()
  await expect.poll(() => requestOf('frail-1', key), SOON).toBe(503)
}

async function requestOf(model: string, key: string): Promise<number> {
  const response = await fetch(`${stage.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: `Hello from ${newName()}` }] }),
  })
  await response.arrayBuffer()
  return response.status
}

async function revokeLeaked(page: Page, person: string): Promise<void> {
  await open(page, 'Users')
  await page.getByLabel('Search by name or e-mail').fill(person)
  await page.getByRole('link', { name: person }).click()
  await heading(page, person).waitFor()
  await page.getByRole('button', { name: 'Revoke leaked' }).click()
  await page.getByRole('dialog').getByText('This ends 1 key').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('This person has no live key.').waitFor()
}

type Row = ExportedRow & { account: string }

/** The files of today, once they hold every request of the overview. */
async function exportDay(owner: Administrator): Promise<Row[]> {
  const read = async () => (await readExported(FILES).catch(() => [])) as Row[]
  await expect
    .poll(async () => {
      await owner.call('exports.run', { export_id: 'day' })
      const { requests } = await owner.call('overview.show', { window: 'day' })
      return requests > 0 && (await read()).length === requests
    }, SOON)
    .toBe(true)
  return read()
}

function sumOf(rows: readonly Row[], unit: 'usd' | 'tokens'): number {
  const charges = rows.filter((row) => row.unit === unit).reduce((sum, { charge }) => sum + charge, 0)
  return charges / (unit === 'usd' ? NANO_PER_USD : MILLI_PER_TOKEN)
}
