/**
 * Coming, staying and leaving.
 */

import { expect, test } from 'vitest'
import { stage } from './shared-stage.ts'
import { goTo, heading, newKeyOwner, newName, newVisitor, openConsole, signIn } from './visitor.ts'

test('a reload requires no name again and shows the same page', async () => {
  const { page } = await newKeyOwner(stage)
  await goTo(page, 'Models')
  await page.reload()
  await heading(page, 'Models').waitFor()
  expect(page.url()).toBe(`${stage.gateway.url}/console/models`)
})

test('back and forward go from page to page', async () => {
  const { page } = await newKeyOwner(stage)
  await goTo(page, 'Keys')
  await goTo(page, 'Models')
  await page.goBack()
  await heading(page, 'Keys').waitFor()
  await page.goForward()
  await heading(page, 'Models').waitFor()
})

test('a bookmark opens its page without a click where the identity provider knows the visitor', async () => {
  const { page } = await newVisitor(stage)
  const other = await page.context().newPage()
  await openConsole(stage, other, '/usage?from=a-bookmark')
  await heading(other, 'Usage').waitFor()
  expect(other.url()).toBe(`${stage.gateway.url}/console/usage?from=a-bookmark`)
})

test('a visitor without a session at the identity provider gets the sign-in page at the same address, after one attempt', async () => {
  const { page } = await stage.visit()
  const attempts: string[] = []
  page.on('request', (request) => {
    if (request.url().startsWith(`${stage.gateway.issuer}/auth?`)) attempts.push(request.url())
  })
  await openConsole(stage, page, '/models')
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(page.url()).toBe(`${stage.gateway.url}/console/models`)
  expect(await page.getByRole('alert').count()).toBe(0)
  await page.reload()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await page.waitForLoadState('networkidle')
  expect(attempts.map((url) => new URL(url).searchParams.get('prompt'))).toEqual(['none'])
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Name').fill(newName())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await heading(page, 'Models').waitFor()
})

test('an identity provider that keeps a first visitor waiting does not keep the sign-in page away', async () => {
  const { page } = await stage.visit()
  const held: (() => void)[] = []
  await page.route(`${stage.gateway.issuer}/.well-known/**`, (route) => {
    held.push(() => void route.continue())
  })
  await openConsole(stage, page)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  const [went] = held
  went!()
  // The reply comes late, and takes nobody away from the page.
  await page.waitForLoadState('networkidle')
  expect(page.url()).toBe(`${stage.gateway.url}/console`)
})

test('after a sign-out the page tries nobody, even where the identity provider keeps its session', async () => {
  const { page } = await newVisitor(stage)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Stay signed in' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(page.url()).toBe(`${stage.gateway.url}/console`)
  await page.reload()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
})

test('after a sign-out the next visitor has to sign in, and sees nothing of the one before', async () => {
  const { page, name } = await newVisitor(stage)
  await page.getByRole('button', { name: 'Sign out' }).click()
  // At the identity provider, whose session ends as well.
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(page.url()).toMatch(new RegExp(`^${stage.gateway.url}/console`))
  const next = newName()
  await signIn(page, next)
  await page.getByText(next).waitFor()
  expect(await page.getByText(name, { exact: true }).count()).toBe(0)
})

test('a visitor who signs out in one tab is signed out in the others', async () => {
  const { page, name } = await newVisitor(stage)
  const other = await page.context().newPage()
  await openConsole(stage, other)
  await heading(other, 'Overview').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await other.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await other.getByText(name, { exact: true }).count()).toBe(0)
})

test('a visitor who comes back from the identity provider without a response can begin again', async () => {
  const { page } = await stage.visit()
  await openConsole(stage, page)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await page.route(`${stage.gateway.issuer}/auth?**`, (route) => route.fulfill({ status: 204 }))
  const left = page.waitForResponse(`${stage.gateway.issuer}/auth?**`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await left
  await page.getByText('Signing you in').waitFor()
  // As browsers show a page again that they have kept whole.
  await page.evaluate(() => window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
})

test('the page distinguishes a browser that keeps nothing for it from a gateway that does not respond', async () => {
  const { page } = await stage.visit()
  await page.addInitScript(() =>
    Object.defineProperty(window, 'sessionStorage', {
      get() {
        throw new DOMException('Access is denied for this document.', 'SecurityError')
      },
    }),
  )
  await openConsole(stage, page)
  await page.getByRole('alert').getByText('Allow cookies and site data').waitFor()
  await page.goto('about:blank')
})

test('a reload after which the identity provider requires an interaction is no failure', async () => {
  const { page } = await newVisitor(stage)
  await page.route(`${stage.gateway.issuer}/auth?**`, (route) => {
    const requested = new URL(route.request().url()).searchParams
    const reply = new URLSearchParams({ error: 'interaction_required', state: requested.get('state')! })
    return route.fulfill({ status: 302, headers: { location: `${requested.get('redirect_uri')}?${reply}` } })
  })
  await page.reload()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('nothing of a sign-in is left in the address or in the browser’s storage', async () => {
  const { page } = await newVisitor(stage)
  expect(page.url()).toBe(`${stage.gateway.url}/console`)
  const kept = await page.evaluate(async () => ({
    stored: localStorage.length + sessionStorage.length,
    cookies: document.cookie,
    databases: await indexedDB.databases(),
    remembered: Object.keys(history.state as object).sort(),
  }))
  expect(kept).toEqual({ stored: 0, cookies: '', databases: [], remembered: ['colorScheme', 'signedIn'] })
})

test.each([
  { reply: 'error=access_denied&state=', title: /no longer valid|did not sign in/ },
  { reply: 'code=stolen&state=made-up', title: /no longer valid/ },
])('a sign-in that this page did not begin is refused in words: $reply', async ({ reply, title }) => {
  const { page } = await stage.visit()
  await openConsole(stage, page, `/callback?${reply}`)
  await page.getByRole('alert').getByText(title).waitFor()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(page.url()).toBe(`${stage.gateway.url}/console`)
})

test('the way past the navigation leads to the page, and leaves address and colours as they are', async () => {
  const { page } = await newVisitor(stage, { colorScheme: 'dark' })
  await page.getByRole('button', { name: 'Switch to light colours' }).click()
  const address = page.url()
  await page.getByText('Skip to the page').focus()
  await page.keyboard.press('Enter')
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN')
  expect(page.url()).toBe(address)
  expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('light')
  await page.reload()
  await heading(page, 'Overview').waitFor()
})

test('the colour scheme follows the system, can be switched, and stays switched over a reload', async () => {
  const { page } = await newVisitor(stage, { colorScheme: 'dark' })
  const scheme = () => page.locator('html').getAttribute('data-mantine-color-scheme')
  expect(await scheme()).toBe('dark')
  await page.getByRole('button', { name: 'Switch to light colours' }).click()
  expect(await scheme()).toBe('light')
  await page.reload()
  await heading(page, 'Overview').waitFor()
  expect(await scheme()).toBe('light')
})
