/**
 * Responses that fail: the page always explains the failure in words, names the next step, and keeps all that arrived
 * already.
 */

import { expect, test } from 'vitest'
import { expectAccessible } from './accessible.ts'
import { stage } from './shared-stage.ts'
import { sendRequest, fact, goTo, lastTurn, newKeyOwner } from './visitor.ts'

async function newPlaygroundVisitor() {
  const owner = await newKeyOwner(stage)
  await goTo(owner.page, 'Playground')
  return owner
}

test('when all backends of a model fail, the page lists those it tried, the charge of nothing and the next step', async () => {
  const fault = fail({ status: 500, backend: 'frail-1' })
  const { page, shot } = await newPlaygroundVisitor()
  const turn = await sendRequest(page, 'Hello?', 'frail-1')
  const alert = turn.getByRole('alert')
  await alert.getByText('Every backend of this model failed').waitFor()
  await alert.getByText('Tried: frail-1. Nothing was charged.').waitFor()
  await alert.getByText(/UPSTREAMS_EXHAUSTED · request [0-9a-f-]{36}/).waitFor()
  await expectAccessible(page, 'a failed response')
  await shot('playground-failed')
  // Once they are well again, the same question is a click away.
  fault[Symbol.dispose]()
  await expect
    .poll(
      async () => {
        await page.getByRole('button', { name: 'Retry' }).click()
        await page.getByRole('button', { name: 'Send' }).waitFor()
        return page.getByText('This is the simulated backend').count()
      },
      { timeout: 25_000, interval: 1_000 },
    )
    .toBeGreaterThan(0)
  await expect.poll(() => page.getByRole('article').count()).toBe(1)
})

test('when a backend dies in the middle, the text that arrived stays, and the page reports the break', async () => {
  using _fault = fail({ dieAfterChunks: 6, backend: 'frail-2' })
  const { page, shot } = await newPlaygroundVisitor()
  const turn = await sendRequest(page, 'Hello?', 'frail-2')
  await turn.getByRole('alert').getByText('The response was interrupted').waitFor()
  await turn.getByText('This is the').first().waitFor()
  await shot('playground-broken-off')
  // The conversation goes on.
  await sendRequest(page, 'And again?', 'svc-instant')
  await lastTurn(page).getByText('Charge').waitFor()
})

test('a visitor can stop a response and then send the next message', async () => {
  using _fault = fail({ paceMs: 100, backend: 'frail-3' })
  const { page } = await newPlaygroundVisitor()
  await page.getByLabel('Model').selectOption('frail-3')
  await page.getByLabel('Your message').fill('Tell me in 300 words.')
  await page.keyboard.press('Enter')
  await lastTurn(page).getByText('First token', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Stop generating' }).click()
  await lastTurn(page).getByText('Stopped.').waitFor()
  await sendRequest(page, 'Short, please', 'svc-instant')
  await lastTurn(page).getByText('Charge').waitFor()
})

test('a rate limit says how long to wait', async () => {
  const { page, name } = await newPlaygroundVisitor()
  await stage.ctl('accounts', 'set-plan', name, 'slow')
  for (const question of ['One', 'Two']) await sendRequest(page, question, 'svc-instant')
  const turn = await sendRequest(page, 'Three', 'svc-instant')
  await turn.getByRole('alert').getByText('Too many requests in a minute').waitFor()
  await turn
    .getByRole('alert')
    .getByText(/Wait \d+ seconds and send it again/)
    .waitFor()
})

test('a key that is revoked elsewhere cuts the response, and the page names the missing key', async () => {
  using _fault = fail({ paceMs: 100, backend: 'frail-4' })
  const { page, key } = await newPlaygroundVisitor()
  const requested = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
  await page.getByLabel('Model').selectOption('frail-4')
  await page.getByLabel('Your message').fill('Tell me in 300 words.')
  await page.keyboard.press('Enter')
  const { authorization } = await (await requested).allHeaders()
  await lastTurn(page).getByText('First token', { exact: true }).waitFor()
  const revoked = await fetch(`${stage.gateway.url}/v1/keys/developer/revoke`, {
    method: 'POST',
    headers: { authorization: authorization!, 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  })
  expect(revoked.status).toBe(200)
  await page.getByText('You have no active key').first().waitFor()
  await page.getByRole('button', { name: 'Create key' }).waitFor()
})

test("the page separates a model's thoughts from its response", async () => {
  const { page, name } = await newPlaygroundVisitor()
  await stage.ctl('accounts', 'set-plan', name, 'pro')
  await page.reload()
  const turn = await sendRequest(page, 'Is 91 a prime?', 'svc-pro')
  await turn.getByText('Reasoning', { exact: true }).click()
  await turn.getByText('This is the simulated backend').first().waitFor()
})

test('a conversation stays while one looks at other pages', async () => {
  const { page } = await newPlaygroundVisitor()
  await sendRequest(page, 'Remember this', 'svc-instant')
  await goTo(page, 'Models')
  await goTo(page, 'Playground')
  await page.getByText('Remember this').first().waitFor()
  const second = await sendRequest(page, 'And this', 'svc-instant')
  // The earlier turn went along.
  expect(Number((await fact(second, 'Tokens')).split(' ')[0])).toBeGreaterThan(30)
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.getByText('Send a message').waitFor()
})

test('each line stands in the direction of its own script', async () => {
  const { page, shot } = await newPlaygroundVisitor()
  await sendRequest(page, 'Say: שלום עולם\nHello again', 'svc-instant')
  /** Where a line begins, from the left edge of its paragraph to the right one. */
  const begins = (text: string) =>
    page
      .locator('article p')
      .filter({ hasText: text })
      .last()
      .evaluate((paragraph, line) => {
        const node = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT).nextNode()!
        const range = document.createRange()
        const from = node.textContent!.indexOf(line)
        range.setStart(node, from)
        range.setEnd(node, from + line.length)
        const [complete, own] = [paragraph.getBoundingClientRect(), range.getBoundingClientRect()]
        return own.right > complete.right - 4 && own.left > complete.left + 4 ? 'right' : 'left'
      }, text)
  expect(await begins('שלום עולם')).toBe('right')
  expect(await begins('Hello again')).toBe('left')
  await page.getByLabel('Your message').fill('سؤال')
  expect(await page.getByLabel('Your message').evaluate((field) => field.matches(':dir(rtl)'))).toBe(true)
  await shot('playground-right-to-left')
})

test('Enter that ends the composing of a character sends nothing, also as Safari reports it', async () => {
  const { page } = await newPlaygroundVisitor()
  const field = page.getByLabel('Your message')
  await field.fill('にほんご')
  const sent = await field.evaluate((element) => {
    const press = new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true })
    return !element.dispatchEvent(press)
  })
  expect(sent).toBe(false)
  expect(await field.inputValue()).toBe('にほんご')
})

function fail(fault: Parameters<typeof stage.backend.fail>[0]): Disposable {
  const { cancel } = stage.backend.fail(fault)
  return { [Symbol.dispose]: cancel }
}
