/**
 * First use with a real model: one command, and a question that is typed into the console's playground is answered.
 */

import { afterAll, afterEach, expect, test } from 'vitest'
import { useStage } from '../console/stage.ts'
import { fact, lastTurn, newVisitor } from '../console/visitor.ts'
import { note } from './evidence.ts'
import { MODEL, startLlama } from './llama-server.ts'

const llama = await startLlama()
afterAll(() => llama[Symbol.asyncDispose]())
const stage = useStage({ config: undefined, args: ['--backend', llama.url] })
afterEach(({ task }) =>
  note({ tests: [{ server: 'llama.cpp', test: task.name, passed: task.result?.state === 'pass' }] }),
)

test('a question in the playground is answered by the model after one command', async () => {
  expect(stage.gateway.output).toMatch(new RegExp(`^ +svc-instant +${MODEL}$`, 'm'))
  const { page, shot } = await newVisitor(stage)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('link', { name: 'open the playground' }).click()
  await page.getByLabel('Model').selectOption('svc-instant')
  await page.getByLabel('Your message').fill('What is the capital of Australia?')
  await page.keyboard.press('Enter')
  await expect.poll(() => llama.generating(), { timeout: 30_000, interval: 20 }).toBe(1)
  const turn = lastTurn(page)
  await turn.getByText('First token', { exact: true }).waitFor({ timeout: 60_000 })
  expect(await fact(turn, 'Upstream')).toBe('spark')
  await shot('playground-real-model')
  // A model that was never trained to chat does not know when to end.
  await page.getByRole('button', { name: 'Stop the answer' }).click()
  await expect.poll(() => llama.generating(), { timeout: 10_000, interval: 50 }).toBe(0)
  expect(await turn.innerText()).not.toContain('simulated')
})
