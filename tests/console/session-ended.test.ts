/**
 * A session that is over.
 */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { startIdentityProvider, type IdentityProvider } from '@gateway/stand-ins/identity-provider'
import { expectAccessible } from './accessible.ts'
import { useStage } from './stage.ts'
import {
  sendRequest,
  goTo,
  heading,
  lastTurn,
  newKeyOwner,
  newName,
  newVisitor,
  openConsole,
  signIn,
} from './visitor.ts'

const TOKEN_LASTS_S = 25
const port = await freePort()
const issuerPort = await freePort()
const url = `http://127.0.0.1:${port}`
let provider: IdentityProvider
beforeAll(async () => {
  provider = await startIdentityProvider({
    port: issuerPort,
    audience: url,
    consoleUrl: `${url}/console`,
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
  await expectAccessible(page, 'an ended session')
  await shot('session-ended')
  await page.keyboard.press('Escape')
  await dialog.getByRole('button', { name: 'Sign in again' }).click()
  await heading(page, 'Models').waitFor()
  await page.getByText('in your plan').first().waitFor()
  expect(page.url()).toBe(`${url}/console/models`)
})

test('a token that the gateway refuses ends the session, even one that is valid by the clock of the page', async () => {
  const { page } = await newVisitor(stage)
  await page.route('**/v1/keys/developer', (route) =>
    route.fulfill({ status: 401, json: { error: 'Invalid token format', code: 'INVALID_TOKEN' } }),
  )
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
})

test('the page recognizes a token that the gateway has never accepted, since another sign-in would bring the same', async () => {
  const { page, shot } = await stage.visit()
  for (const call of ['**/v1/keys/developer', '**/admin/v1/me']) {
    await page.route(call, (route) =>
      route.fulfill({ status: 401, json: { error: 'Invalid token format', code: 'INVALID_TOKEN' } }),
    )
  }
  await openConsole(stage, page)
  await signIn(page, newName())
  const dialog = page.getByRole('dialog', { name: 'The gateway refuses your sign-in' })
  await dialog.getByText(`for the audience ${url}`).waitFor()
  await expectAccessible(page, 'a refused sign-in')
  await shot('sign-in-refused')
})

/** In the playground, with a conversation and a session that ends with the next question. */
async function newSpeaker() {
  const owner = await newKeyOwner(stage)
  const { page } = owner
  await goTo(page, 'Playground')
  await sendRequest(page, 'Remember this')
  await page.route('**/v1/chat/completions', (route) =>
    route.fulfill({ status: 401, json: { error: 'Invalid token format', code: 'INVALID_TOKEN' } }),
  )
  await page.getByLabel('Your message').fill('And answer this')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
  await dialog.waitFor()
  await page.unroute('**/v1/chat/completions')
  return { ...owner, again: dialog.getByRole('button', { name: 'Sign in again' }) }
}

test('signing in again brings the conversation back, and the question that had no response', async () => {
  const { page, again } = await newSpeaker()
  await again.click()
  await heading(page, 'Playground').waitFor()
  await page.getByText('Remember this').first().waitFor()
  expect(await page.getByLabel('Your message').inputValue()).toBe('And answer this')
  await page.getByRole('button', { name: 'Send' }).click()
  await lastTurn(page).getByText('Charge').waitFor()
  await expect.poll(() => page.getByRole('article').count()).toBe(2)
})

test('a visitor who signs in again as somebody else sees nothing of the one before', async () => {
  const { page, again } = await newSpeaker()
  await page.context().clearCookies()
  await again.click()
  await page.getByLabel('Name').fill(newName())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await heading(page, 'Playground').waitFor()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Send a message').waitFor()
  expect(await page.getByText('Remember this').count()).toBe(0)
  expect(await page.getByLabel('Your message').inputValue()).toBe('')
})
