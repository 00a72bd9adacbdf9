/**
 * A receipt, checked in the browser by somebody without any role.
 */

import { request as httpRequest, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { stage } from './shared-stage.ts'
import { expectAccessible } from './accessible.ts'
import { goTo, newKeyOwner } from './visitor.ts'

interface Received {
  body: string
  receipt: string
}

/** `fetch` shows no trailers. */
async function respondTo(key: string, stream: boolean): Promise<Received> {
  const sent = httpRequest(`${stage.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-svc-receipt': '1' },
  })
  const responded = once(sent, 'response') as Promise<[IncomingMessage]>
  sent.end(JSON.stringify({ model: 'svc-core', stream, messages: [{ role: 'user', content: 'Hello!' }] }))
  const [response] = await responded
  const body = await text(response)
  const [, carried] = /"svc_receipt":"([^"]+)"/.exec(body) ?? []
  return { body, receipt: carried ?? String(response.trailers['x-svc-receipt']) }
}

async function check(page: Page, receipt: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Receipt', exact: true }).fill(receipt)
  await page.getByRole('button', { name: 'Check receipt' }).click()
}

test('a visitor checks a receipt against its content, and a changed digit is found', async () => {
  const { page, key, shot } = await newKeyOwner(stage)
  const { body, receipt } = await respondTo(key, false)
  await goTo(page, 'Receipts')
  await page.getByLabel('Content (optional)').fill(body)
  await check(page, `x-svc-receipt: ${receipt}`)
  await page.getByText('The gateway signed this receipt', { exact: true }).waitFor()
  await page.getByText('The content is the one that was charged').waitFor()
  const claims = JSON.parse(Buffer.from(receipt.split('.')[1]!, 'base64url').toString()) as {
    charge: { amount: string }
  }
  await page.getByText(`${claims.charge.amount} allowance tokens`).waitFor()
  await shot('receipt')
  await expectAccessible(page, 'a receipt that is right')

  await page.getByLabel('Content (optional)').fill(`${body} `)
  await check(page, receipt)
  await page.getByText('The gateway signed this receipt for another content').waitFor()

  const [header, payload, signature] = receipt.split('.')
  const dearer = Buffer.from(payload!, 'base64url')
    .toString()
    .replace(/"amount":"(\d)/, (_, digit: string) => `"amount":"${(Number(digit) + 1) % 10}`)
  await check(page, [header, Buffer.from(dearer).toString('base64url'), signature].join('.'))
  await page.getByText('The signature is wrong: something was changed').waitFor()
  await expectAccessible(page, 'a receipt that is wrong')
})

test('the content of a stream is a file as it came', async () => {
  const { page, key } = await newKeyOwner(stage)
  const { body, receipt } = await respondTo(key, true)
  await goTo(page, 'Receipts')
  const file = { name: 'stream.txt', mimeType: 'text/plain', buffer: Buffer.from(body) }
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'stream.txt' }).waitFor()
  await check(page, receipt)
  await page.getByText('The content is the one that was charged').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})
