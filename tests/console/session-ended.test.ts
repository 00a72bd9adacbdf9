/**
 * A session that is over.
 */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { startIdentityProvider, type IdentityProvider } from '@gateway/stand-ins/identity-provider'
import { expectAccessible } from './accessible.ts'
import { useStage } from './stage.ts'
import { goTo, heading, newKeyOwner, newVisitor } from './visitor.ts'

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
  await expectAccessible(page, 'an ended session')
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
