/**
 * The console on a host of its own (`CONSOLE_URL`): its files anywhere, its pages allowed to call the gateway.
 */

import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageHeaders, readConsoleFiles, typeOf } from '../../services/edge/src/console/show-console.ts'
import { useStage } from './stage.ts'
import { sendRequest, fact, goTo, newName, shownKey, signIn } from './visitor.ts'

const DIST = join(import.meta.dirname, '../../services/console/dist')
const port = await freePort()
const consoleUrl = `http://127.0.0.1:${port}/console`
const stage = useStage({ consoleUrl, environment: { CONSOLE_URL: consoleUrl } })
let host: Server

/** Hosts the files as the console's README instructs. */
beforeAll(async () => {
  const files = (await readConsoleFiles(DIST))!
  const { url, issuer } = stage.gateway
  const signIn = { issuer, audience: url }
  const config = { gatewayUrl: url, consoleUrl, docsUrl: `${url}/docs`, signIn }
  host = createServer((request, response) => {
    const path = new URL(request.url!, consoleUrl).pathname.replace(/^\/console\/?/, '')
    const file = files.has(path) ? path : 'index.html'
    const isConfig = path === 'config.json'
    response.writeHead(200, {
      ...pageHeaders([url, issuer]),
      'content-type': isConfig ? 'application/json' : typeOf(file),
    })
    response.end(isConfig ? JSON.stringify(config) : files.get(file)!.body)
  })
  host.listen(port, '127.0.0.1')
  await once(host, 'listening')
})
afterAll(() => {
  host.close()
  host.closeAllConnections()
})

test('people sign in there, create a key and use the playground', async () => {
  const { page } = await stage.visit()
  await page.goto(consoleUrl)
  await signIn(page, newName())
  await page.getByRole('button', { name: 'Create key' }).click()
  await shownKey(page)
  await goTo(page, 'Playground')
  const turn = await sendRequest(page, 'Hello?', 'svc-best')
  // Headers that a page of another origin reads only where it is allowed to.
  expect(await fact(turn, 'Upstream')).toMatch(/^[a-z]+$/)
  await turn.getByText('Auto chose').waitFor()
})

test('an owner administers from there: every method of the API may be called', async () => {
  const { page } = await stage.visit()
  await page.goto(consoleUrl)
  await signIn(page, `owner-${newName()}`)
  await page.getByRole('group', { name: 'Organization' }).getByRole('link', { name: 'Projects' }).click()
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Elsewhere')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'Elsewhere' }).waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Limits' }).click()
  await page.getByRole('button', { name: 'Change plan' }).click()
  await page.getByLabel('Overage').selectOption('on')
  await page.getByRole('button', { name: 'Save' }).click()
  // The dialog's choice has the same word.
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.getByText('on', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Set a limit' }).click()
  await page.getByLabel('Tokens of allowance').fill('5000')
  await page.getByRole('button', { name: 'Save' }).click()
  const card = page.getByRole('region', { name: 'Spend limit' })
  await card.getByRole('button', { name: 'Remove' }).click()
  await card.getByText('None: the plan’s allowance alone holds.').waitFor()
})

test('the gateway itself serves no console', async () => {
  const response = await fetch(`${stage.gateway.url}/console`)
  expect(response.status).toBe(404)
})

test('pages of other origins still may not call', async () => {
  const preflight = (origin: string) =>
    fetch(`${stage.gateway.url}/v1/models`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET' },
    })
  expect((await preflight(new URL(consoleUrl).origin)).headers.get('access-control-allow-origin')).toBe(
    new URL(consoleUrl).origin,
  )
  expect((await preflight('http://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
})
