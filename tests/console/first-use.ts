/**
 * The first minutes at the console, with nothing to go by but the page.
 */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '@gateway/servers/find-program'
import { expect, test } from 'vitest'
import { stage } from './shared-stage.ts'
import { fact, goTo, heading, lastTurn, newName, newVisitor, openConsole, shownKey, signIn } from './visitor.ts'

/** One of our own, for machines without it. */
const CURL = `curl() { "${process.execPath}" "${join(import.meta.dirname, '../promises/curl.ts')}" "$@"; }`

test('a newcomer gets from the output of npm start to a streamed response by the words of the page', async () => {
  const address = /console +(\S+)/.exec(stage.gateway.output)![1]!
  const { page, shot } = await stage.visit()
  await page.goto(address)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await shot('sign-in')
  await signIn(page, newName())

  await page.getByRole('button', { name: 'Create key' }).waitFor()
  await shot('overview-without-key')
  await page.getByRole('button', { name: 'Create key' }).click()
  await shownKey(page)
  await page.getByRole('meter').waitFor()
  await shot('key-created')
  await page.getByRole('link', { name: 'open the playground' }).click()
  await heading(page, 'Playground').waitFor()
  await shot('playground-empty')
  await page.getByRole('button', { name: 'What is the capital of Australia?' }).click()

  const turn = lastTurn(page)
  await turn.getByText('This is the simulated backend').first().waitFor()
  await turn.getByText('Charge').waitFor()
  await shot('playground')
  expect(await fact(turn, 'Auto chose')).toMatch(/^(Spark|Bolt|Nova) \([a-z ]+\)$/)
  expect(await fact(turn, 'Upstream')).toMatch(/^(spark|bolt|nova)$/)
  expect(await fact(turn, 'First token')).toMatch(/ m?s$/)
  expect(await fact(turn, 'Tokens')).toMatch(/^[\d,]+ in, [\d,]+ out$/)
  const charge = (await fact(turn, 'Charge')).replace(' allowance tokens', '')

  await goTo(page, 'Overview')
  await page.getByText(`${charge} tokens`).waitFor()
  await shot('overview')
})

test('a response appears as it is generated', async () => {
  using _slow = slowBackend(15)
  const { page } = await newVisitor(stage)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('link', { name: 'open the playground' }).click()
  await page.getByRole('button', { name: 'What is the capital of Australia?' }).click()
  await lastTurn(page).getByText('This is the').first().waitFor()
  expect(await page.getByRole('button', { name: 'Stop generating' }).isVisible()).toBe(true)
  expect(await lastTurn(page).innerText()).not.toContain('Charge')
})

test('the curl and Node examples work as printed, and the Python one is Python', async () => {
  const { page } = await newVisitor(stage)
  await page.getByRole('button', { name: 'Create key' }).click()
  const environment = await page.getByLabel('Setting the key').innerText()
  const example = async (language: string) => {
    await page.getByText(language, { exact: true }).click()
    return page.getByLabel(`${language} example`).innerText()
  }
  const shell = (script: string) =>
    promisify(execFile)('sh', ['-c', `${CURL}\n${environment}\n${script}`], { timeout: 20_000 })

  expect((await shell(await example('curl'))).stdout).toContain('"chat.completion"')
  const node = await example('Node')
  expect((await shell(`${process.execPath} --input-type=module -e ${quote(node)}`)).stdout).toContain(
    'You asked: "Hello!"',
  )
  const python = await example('Python')
  expect(python).toContain(`OpenAI(base_url="${stage.gateway.url}/v1", api_key=os.environ["SVC_KEY"])`)
  const interpreter = findProgram('python3')
  if (interpreter) await promisify(execFile)(interpreter, ['-c', 'import ast, sys; ast.parse(sys.argv[1])', python])
})

test('opened at another name of the same machine, it goes where the identity provider knows it', async () => {
  const elsewhere = stage.gateway.url.replace('127.0.0.1', 'localhost')
  const { page } = await stage.visit({}, [elsewhere])
  await page.goto(`${elsewhere}/console/usage`).catch(() => undefined)
  await page.waitForURL(`${stage.gateway.url}/console/usage`)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
})

test('an address that is no page shows the first', async () => {
  const { page } = await stage.visit()
  await openConsole(stage, page, '/nowhere')
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
})

function slowBackend(tokensPerSecond: number): Disposable {
  stage.backend.setSpeed({ tokensPerSecond })
  return { [Symbol.dispose]: () => stage.backend.setSpeed({ tokensPerSecond: 400 }) }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
