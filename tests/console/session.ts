/**
 * Coming, staying and leaving.
 */

import { expect, test } from 'vitest'
import { stage } from './shared-stage.ts'
import { goTo, heading, newKeyOwner, newName, newVisitor, openConsole, signIn } from './visitor.ts'

test('a reload asks nobody for a name again and shows the same page', async () => {
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

test('who signed out is asked who they are, and sees nothing of the one before', async () => {
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
  { answer: 'error=access_denied&state=', title: /no longer valid|did not sign in/ },
  { answer: 'code=stolen&state=made-up', title: /no longer valid/ },
])('a sign-in that this page did not begin is refused in words: $answer', async ({ answer, title }) => {
  const { page } = await stage.visit()
  await openConsole(stage, page, `/callback?${answer}`)
  await page.getByRole('alert').getByText(title).waitFor()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(page.url()).toBe(`${stage.gateway.url}/console`)
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
