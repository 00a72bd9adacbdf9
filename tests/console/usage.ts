/**
 * The pages of usage: the allowance, usage over time, models and their cost.
 */

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { stage, TOP_UP_URL } from './shared-stage.ts'
import { sendRequest, fact, goTo, newKeyOwner, newVisitor } from './visitor.ts'

/** Usage reaches the ledger some moments after a response. */
async function waitForUsage(page: Page, text: string | RegExp): Promise<void> {
  await expect
    .poll(
      async () => {
        await goTo(page, 'Overview')
        await goTo(page, 'Usage')
        return page.getByRole('main').innerText()
      },
      { timeout: 20_000, interval: 1_000 },
    )
    .toMatch(text)
}

test('usage is shown by day and by model, as figures that agree with the responses', async () => {
  const { page, shot } = await newKeyOwner(stage)
  await goTo(page, 'Playground')
  const first = await sendRequest(page, 'One', 'svc-instant')
  const charge = Number((await fact(first, 'Charge')).replace(/ .*/, '').replace(',', ''))
  const second = await sendRequest(page, 'Two', 'svc-core')
  const dearer = Number((await fact(second, 'Charge')).replace(/ .*/, '').replace(',', ''))
  expect(dearer).toBeGreaterThan(charge)

  await waitForUsage(page, new RegExp(`Requests\\s+2\\b`))
  const sum = (charge + dearer).toLocaleString('en', { maximumFractionDigits: 3 })
  await page.getByText(`${sum} tokens`).first().waitFor()
  const models = page.getByRole('region', { name: 'Usage by model' })
  await expect.poll(() => models.getByRole('rowheader').allInnerTexts()).toEqual(['svc-core', 'svc-instant'])
  await expect
    .poll(() => page.getByRole('img', { name: /Allowance a day/ }).getAttribute('aria-label'))
    .toContain(`${sum} tokens`)
  await shot('usage')

  await page.getByRole('button', { name: 'Table' }).click()
  const days = page.getByRole('region', { name: 'Usage by day' })
  await expect.poll(() => days.getByRole('row').last().innerText()).toContain(`${sum} tokens`)
  await page.getByText('Last month', { exact: true }).click()
  await page.getByText('No usage in this time').waitFor()
  await shot('usage-empty')
})

test('the sessions of coding tools are shown with the share of their prompts that a cache had', async () => {
  const { page, shot } = await newKeyOwner(stage)
  const session = `session-${process.pid}`
  const turns = [
    { role: 'user', content: 'One' },
    { role: 'assistant', content: 'Done' },
  ]
  const sendTurn = await senderOf(page)
  for (const count of [0, 1, 2]) {
    const before = Array.from({ length: count }, () => turns).flat()
    const body = { model: 'svc-instant', max_tokens: 20, messages: [...before, { role: 'user', content: 'Say: hi' }] }
    await sendTurn('/v1/messages', body, { 'x-claude-code-session-id': session })
  }
  await waitForUsage(page, new RegExp(`${session}[^%]*\\b3\\b`))
  const row = page.getByRole('region', { name: 'Usage by session' }).getByRole('row', { name: session })
  await expect.poll(() => row.getByRole('cell').last().innerText()).toMatch(/^[1-9]\d?%$/)
  await shot('usage-sessions')
})

test('usage is found in a browser whose clock is wrong', async () => {
  const { page } = await newKeyOwner(stage)
  await goTo(page, 'Playground')
  await sendRequest(page, 'One', 'svc-instant')
  await waitForUsage(page, /Requests\s+1\b/)
  await goTo(page, 'Overview')
  await page.clock.setFixedTime(Date.now() + 100 * 86_400_000)
  await goTo(page, 'Usage')
  for (const period of ['This month', '30 days']) {
    await page.getByText(period, { exact: true }).click()
    await page
      .getByText(/Requests\s*1\b/)
      .first()
      .waitFor()
  }
  await page.getByText('Last month', { exact: true }).click()
  await page.getByText('No usage in this time').waitFor()
})

test('on pay-as-you-go, the page shows everything in dollars', async () => {
  const { page, name, shot } = await newKeyOwner(stage)
  await stage.ctl('accounts', 'set-plan', name, 'payg')
  await page.reload()
  await page.getByText('$100.00').first().waitFor()
  await goTo(page, 'Playground')
  const turn = await sendRequest(page, 'What would that cost?', 'gpt-5')
  expect(await fact(turn, 'Charge')).toMatch(/^\$0\.0\d+$/)
  await waitForUsage(page, /Cost\s+\$0\.0\d+/)
  await page.getByRole('columnheader', { name: 'Cost' }).waitFor()
  await shot('usage-pay-as-you-go')
  await goTo(page, 'Models')
  await page.getByText('$11.25 / M').first().waitFor()
  await page
    .getByRole('row', { name: /gpt-5 / })
    .getByText(/in, \$.* out \/ M/)
    .waitFor()
  await shot('models-pay-as-you-go')
})

test('the allowance warns from 80 % on, and names the next step when nothing is left', async () => {
  const { page, name, shot } = await newKeyOwner(stage)
  await stage.ctl('accounts', 'set-plan', name, 'tiny')
  await page.reload()
  await page.getByText('10,000 tokens').first().waitFor()
  expect(await page.getByText('more than 80 %').count()).toBe(0)

  await useUp(page, 8_000)
  await goTo(page, 'Overview')
  await page.getByText('You have used more than 80 %').waitFor()
  await expect
    .poll(async () => Number(await page.getByRole('meter').getAttribute('aria-valuenow')))
    .toBeGreaterThanOrEqual(80)
  await shot('overview-low')

  await useUp(page, 10_000)
  await goTo(page, 'Playground')
  const turn = await sendRequest(page, 'One more?', 'svc-core')
  await turn.getByRole('alert').getByText("This month's allowance is used up").waitFor()
  const topUp = turn.getByRole('link', { name: 'Top up' })
  expect(await topUp.getAttribute('href')).toBe(TOP_UP_URL)
  await shot('playground-used-up')
  await goTo(page, 'Overview')
  await page.getByText('The allowance is used up').waitFor()
  await shot('overview-out')
})

/** Calls the gateway with the page's own session. */
async function senderOf(page: Page) {
  const request = page.waitForRequest((requested) => requested.url().endsWith('/billing/quota'))
  await page.reload()
  const authorization = (await (await request).allHeaders())['authorization']!
  return async (path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${stage.gateway.url}${path}`, {
      headers: { authorization, 'content-type': 'application/json', ...headers },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    return (await response.json()) as { used: number }
  }
}

/** Sends requests until the ledger has at least this much. */
async function useUp(page: Page, atLeast: number): Promise<void> {
  const call = await senderOf(page)
  const messages = [{ role: 'user', content: 'Say it in 300 words.' }]
  for (let round = 0; (await call('/billing/quota')).used < atLeast; round++) {
    expect(round).toBeLessThan(40)
    await call('/v1/chat/completions', { model: 'svc-core', messages, max_tokens: 500 })
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

test('models are listed with their multipliers and whether the plan includes them', async () => {
  const { page, shot } = await newKeyOwner(stage)
  await goTo(page, 'Models')
  const tier = (name: string) =>
    page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) })
  await tier('Nova').getByText('3.75×').waitFor()
  await tier('Nova').getByText('in your plan', { exact: true }).waitFor()
  await tier('Apex').getByText('13.3×').waitFor()
  await tier('Apex').getByText('not in your plan').waitFor()
  await page
    .getByRole('row', { name: /svc-chat-lg/ })
    .getByText('not included')
    .waitFor()
  await shot('models')
  await goTo(page, 'Playground')
  const apex = page.getByLabel('Model').locator('option[value="svc-max"]')
  expect(await apex.isDisabled()).toBe(true)
})

test('before there is a key, the catalog is there already', async () => {
  const { page } = await newVisitor(stage)
  await goTo(page, 'Models')
  await page.getByText('13.3×').waitFor()
  await goTo(page, 'Usage')
  await page.getByText('No usage in this time').waitFor()
})
