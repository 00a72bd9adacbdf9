/**
 * The pictures in the README: real pages, with figures of a busier account where a test has no month to wait for.
 * `GENERATE_DOCS=1 npm test -- tests/console -t pictures` takes them again.
 */

import { mkdir } from 'node:fs/promises'
import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ProjectView } from '@gateway/contracts/administration/project-views'
import type { QuotaRecord } from '@gateway/contracts/metering-api'
import { usageQuery, type UsageRecord, type UsageRow } from '@gateway/contracts/usage-api'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { SCREENSHOTS } from './stage.ts'
import { stage } from './shared-stage.ts'
import { goTo, lastTurn, openConsole, signIn } from './visitor.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const folder = process.env['GENERATE_DOCS'] ? join(ROOT, 'docs', 'images') : SCREENSHOTS

test('are of pages that exist', async () => {
  await mkdir(folder, { recursive: true })
  const { page } = await stage.visit({ viewport: { width: 1200, height: 760 } })
  const take = (name: string) => page.screenshot({ path: join(folder, `console-${name}.png`) })
  await page.clock.setFixedTime('2026-11-21T12:00:00Z')
  await page.route('**/v1/usage*', (route) => route.fulfill({ json: sampleUsage(new URL(route.request().url())) }))
  await page.route('**/billing/quota', (route) => route.fulfill({ json: SAMPLE_QUOTA }))

  await openConsole(stage, page)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Name').fill('Ada Lovelace')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByText('left').first().waitFor()
  await settle(page)
  await take('overview')

  await goTo(page, 'Playground')
  await page.getByRole('button', { name: 'What is the capital of Australia?' }).click()
  await lastTurn(page).getByText('Charge').waitFor()
  await page.getByLabel('Your message').fill('And how far is it from Sydney?')
  await page.keyboard.press('Enter')
  await lastTurn(page).getByText('Charge').waitFor()
  await settle(page)
  await take('playground')

  await page.emulateMedia({ colorScheme: 'dark' })
  await goTo(page, 'Usage')
  await page.getByRole('img', { name: /a day/ }).waitFor()
  await settle(page)
  await take('usage')
})

test('are of the organization, too', async () => {
  await mkdir(folder, { recursive: true })
  const { page } = await stage.visit({ viewport: { width: 1200, height: 760 } })
  await page.clock.setFixedTime('2026-11-21T12:00:00Z')
  await page.route('**/admin/v1/projects?*', (route) => route.fulfill({ json: sampleProjects() }))
  await openConsole(stage, page)
  await signIn(page, 'owner')
  await openConsole(stage, page, '/organization/projects')
  await page.getByRole('table').waitFor()
  await settle(page)
  await page.screenshot({ path: join(folder, 'console-projects.png') })
})

test.each(['overview', 'playground', 'usage', 'projects', 'real-model'])('%s is in the README, and small', (name) => {
  const path = `docs/images/console-${name}.png`
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain(`](${path})`)
  expect(statSync(join(ROOT, path)).size).toBeLessThan(150_000)
})

/** Transitions over, the pointer out of the way. */
async function settle(page: Page): Promise<void> {
  await page.mouse.move(0, 0)
  await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished)))
}

const LIMIT = 1_000_000
const USED = 539_446
const SAMPLE_QUOTA: QuotaRecord = {
  ...{ object: 'quota', planSlug: 'free', unit: 'tokens', keyPrefix: 'svc_0a1b2c3d…', source: 'ledger' },
  ...{ used: USED, limit: LIMIT, remaining: LIMIT - USED, resetAt: '2026-12-01T00:00:00.000Z' },
}

const TEAMS: [name: string, spent: number, limit: number, keys: number][] = [
  ['Search', 4_812.4, 5_000, 12],
  ['Support assistant', 1_630.15, 2_000, 4],
  ['Document pipeline', 2_204.9, 4_000, 31],
  ['Data science', 611.32, 1_500, 9],
  ['Mobile app', 148.07, 1_000, 3],
  ['Internal tools', 12.6, 500, 2],
]

function sampleProjects() {
  const data = TEAMS.map(([name, spent, limit, keys], index): ProjectView => {
    const id = `proj_Sample0${index}`
    return {
      ...{ id, object: 'project', name, created_at: 1_762_000_000, archived_at: null, status: 'active' },
      ...{ personal: false, plan: 'payg', unit: 'usd', overage: false, keys, your_role: 'owner' },
      ...{ spent, limit, limit_of: 'spend_limit' },
    }
  })
  return { object: 'list', data, first_id: data[0]!.id, last_id: data.at(-1)!.id, has_more: false }
}

const MODELS: [model: string, multiplier: number, share: number][] = [
  ['svc-core', 3.75, 0.3],
  ['svc-best', 2.1, 0.36],
  ['svc-fast', 1.5, 0.14],
  ['svc-instant', 1, 0.2],
]

/** Working days are busier, and the account grows. */
function sampleUsage(url: URL): UsageRecord {
  const { group_by: groupBy } = usageQuery.parse(Object.fromEntries(url.searchParams))
  const days = Array.from({ length: 21 }, (_, index) => index + 1)
  const tokensOn = (day: number) => {
    const weekday = new Date(Date.UTC(2026, 10, day)).getUTCDay()
    const isWeekend = weekday === 0 || weekday === 6
    return Math.round((isWeekend ? 2_300 : 9_000) + day * 180 + ((day * 7_919) % 3_100))
  }
  const total = days.reduce((sum, day) => sum + tokensOn(day), 0)
  const rows: Record<typeof groupBy, () => UsageRow[]> = {
    day: () => days.map((day) => ({ day: `2026-11-${String(day).padStart(2, '0')}`, ...figures(tokensOn(day), 2.4) })),
    model: () =>
      MODELS.map(([model, multiplier, share]) => ({ model, ...figures(Math.round(total * share), multiplier) })),
    session: () => [],
    agent: () => [],
  }
  const data = rows[groupBy]()
  const totals = figures(total, 2.4)
  return { object: 'usage', from: '2026-11-01', to: '2026-11-21', group_by: groupBy, data, totals }
}

function figures(tokens: number, multiplier: number) {
  const prompt = Math.round(tokens * 0.38)
  return {
    requests: Math.round(tokens / 210),
    prompt_tokens: prompt,
    completion_tokens: tokens - prompt,
    cached_tokens: 0,
    total_tokens: tokens,
    allowance_tokens: Math.round(tokens * multiplier),
    cost_usd: 0,
  }
}
