/**
 * A gateway that is away, an identity provider that is away, a network that is slow.
 */

import { expect, test } from 'vitest'
import { expectAccessible } from './accessible.ts'
import { useStage } from './stage.ts'
import { goTo, heading, newKeyOwner, openConsole } from './visitor.ts'

const stage = useStage()

test('while the gateway is away the page says so, and goes on by itself when it is back', async () => {
  const { page, shot } = await newKeyOwner(stage)
  await stage.gateway.stop('SIGTERM')
  await goTo(page, 'Usage')
  await page.getByRole('alert').getByText('The gateway cannot be reached').waitFor()
  await expectAccessible(page, 'a gateway that is away')
  await shot('gateway-away')
  await stage.gateway.restart()
  await page.getByText('No usage in this time').waitFor({ timeout: 20_000 })
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('a page whose script is gone, as in the middle of an update, says that a reload helps', async () => {
  const { page } = await stage.visit()
  await page.route('**/console/assets/*.js', (route) => route.fulfill({ status: 404, json: {} }))
  await openConsole(stage, page)
  await page.getByText('load the page again').waitFor()
  await page.unroute('**/console/assets/*.js')
  await page.reload()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await page.getByText('load the page again').count()).toBe(0)
})

test('the page distinguishes an identity provider that is away from the gateway', async () => {
  const { page } = await stage.visit()
  await openConsole(stage, page)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await page.route(`${stage.gateway.issuer}/**`, (route) => route.abort())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('The identity provider cannot be reached').waitFor()
  await page.unroute(`${stage.gateway.issuer}/**`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Name').waitFor()
})

test('the page distinguishes an identity provider that returns a page of its own from one that is away', async () => {
  const { page } = await stage.visit()
  await openConsole(stage, page)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await page.route(`${stage.gateway.issuer}/.well-known/**`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: '<h1>Maintenance</h1>',
      headers: { 'access-control-allow-origin': '*' },
    }),
  )
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('sent a response that this page does not understand').waitFor()
})

test('a response that was lost with the gateway stays as far as it came, and can be requested again when the gateway is back', async () => {
  stage.backend.setSpeed({ tokensPerSecond: 20 })
  const { page } = await newKeyOwner(stage)
  await goTo(page, 'Playground')
  await page.getByLabel('Your message').fill('Tell me in 300 words.')
  await page.keyboard.press('Enter')
  await page.getByText('First token', { exact: true }).waitFor()
  await stage.gateway.stop('SIGKILL')
  await page.getByRole('alert').getByText('The connection was lost before the response was complete').waitFor()
  await page.getByText('Charge').waitFor({ state: 'detached' })
  stage.backend.setSpeed({ tokensPerSecond: 400 })
  await stage.gateway.restart()
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByText('Charge').waitFor({ timeout: 30_000 })
  await expect.poll(() => page.getByRole('article').count()).toBe(1)
})

test('on a slow network every page shows that it is loading, and nothing moves when it has', async () => {
  const { page, shot } = await newKeyOwner(stage)
  await page.addInitScript(watchLayout)
  await page.evaluate(watchLayout)
  const session = await page.context().newCDPSession(page)
  const throughput = 100 * 1024
  await session.send('Network.enable')
  // Longer than the half second in which browsers attribute a shift to the click.
  await session.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: 700, downloadThroughput: throughput, uploadThroughput: throughput },
  })
  const busy = page.locator('[aria-busy="true"]').first()
  const comesIn = async () => {
    await busy.waitFor({ state: 'attached' })
    await busy.waitFor({ state: 'detached' })
    expect(await page.evaluate(() => (window as unknown as { moved: number }).moved)).toBeLessThan(0.02)
  }

  for (const name of ['Usage', 'Models'] as const) {
    await page.getByRole('navigation').getByRole('link', { name }).click()
    await busy.waitFor({ state: 'attached' })
    await shot(`loading-${name.toLowerCase()}`)
    await comesIn()
  }
  for (const name of ['Overview', 'Keys', 'Playground'] as const) {
    await goTo(page, name)
    await page.reload()
    await page.getByText('Signing you in').waitFor()
    await heading(page, name).waitFor()
    await comesIn()
  }
})

/** Runs in the page. It adds up the layout shifts that follow no input, as browsers score them. */
function watchLayout(): void {
  const scope = window as unknown as { moved: number }
  scope.moved = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[])
      if (!entry.hadRecentInput) scope.moved += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
}
