/**
 * A gateway that is away, a session that is over, a network that is slow.
 */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { startIdentityProvider, type IdentityProvider } from '@gateway/testing/identity-provider'
import { useStage } from './stage.ts'
import { goTo, heading, newKeyOwner, newVisitor, openConsole } from './visitor.ts'

const TOKEN_LASTS_S = 25
const port = await freePort()
const issuerPort = await freePort()
const url = `http://127.0.0.1:${port}`
let provider: IdentityProvider
beforeAll(async () => {
  const redirectUris = [`${url}/console/callback`]
  provider = await startIdentityProvider({
    port: issuerPort,
    audience: url,
    redirectUris,
    accessTokenTtlS: TOKEN_LASTS_S,
  })
})
afterAll(() => provider[Symbol.asyncDispose]())
const stage = useStage({ port, environment: { AUTH_ISSUER: `http://127.0.0.1:${issuerPort}` } })

test('a session that has ended says so over the page, and signing in again comes back to it', async () => {
  const { page, shot } = await newKeyOwner(stage)
  await goTo(page, 'Models')
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
  await dialog.waitFor({ timeout: (TOKEN_LASTS_S + 10) * 1_000 })
  await shot('session-ended')
  await page.keyboard.press('Escape')
  await dialog.getByRole('button', { name: 'Sign in again' }).click()
  await heading(page, 'Models').waitFor()
  await page.getByText('in your plan').first().waitFor()
  expect(page.url()).toBe(`${url}/console/models`)
}, 60_000)

test('a token that the gateway refuses ends the session, whatever the clock of the page says', async () => {
  const { page } = await newVisitor(stage)
  await page.route('**/v1/keys/developer', (route) =>
    route.fulfill({ status: 401, json: { error: 'Invalid token format', code: 'INVALID_TOKEN' } }),
  )
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
})

test('while the gateway is away the page says so, and goes on by itself when it is back', async () => {
  const { page, shot } = await newKeyOwner(stage)
  await stage.gateway.stop('SIGTERM')
  await goTo(page, 'Usage')
  await page.getByRole('alert').getByText('The gateway cannot be reached').waitFor()
  await shot('gateway-away')
  await stage.gateway.restart()
  await page.getByText('Nothing was used in this time').waitFor({ timeout: 20_000 })
  expect(await page.getByRole('alert').count()).toBe(0)
}, 60_000)

test('an identity provider that is away is told apart from the gateway', async () => {
  const { page } = await stage.visit()
  await openConsole(stage, page)
  await page.route(`${provider.issuer}/**`, (route) => route.abort())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('The identity provider cannot be reached').waitFor()
  await page.unroute(`${provider.issuer}/**`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Name').waitFor()
})

test('on a slow network every page shows that it is loading, and nothing moves when it has', async () => {
  const { page, shot } = await newKeyOwner(stage)
  await page.addInitScript(watchLayout)
  await page.evaluate(watchLayout)
  const session = await page.context().newCDPSession(page)
  const throughput = 100 * 1024
  await session.send('Network.enable')
  // Longer than the half second in which what moves is put down to the click.
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
}, 90_000)

/** In the page: adds up what moved without anyone having done something, as browsers score it. */
function watchLayout(): void {
  const scope = window as unknown as { moved: number }
  scope.moved = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[])
      if (!entry.hadRecentInput) scope.moved += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
}
