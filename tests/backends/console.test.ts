/**
 * First use with a real model: one command starts the gateway, and the model responds to a question typed into the
 * console's playground.
 */

import { afterAll, afterEach, expect, test } from 'vitest'
import { useStage } from '../console/stage.ts'
import { fact, lastTurn, newVisitor } from '../console/visitor.ts'
import { note } from './evidence.ts'
import { MODEL, startLlama } from './llama-server.ts'

const llama = await startLlama({ chats: true })
afterAll(() => llama[Symbol.asyncDispose]())
const stage = useStage({ config: undefined, args: ['--backend', llama.url] })
afterEach(({ task }) =>
  note({ tests: [{ server: 'llama.cpp', test: task.name, passed: task.result?.state === 'pass' }] }),
)

test('the model responds to a question in the playground after one command', async () => {
  expect(stage.gateway.output).toMatch(new RegExp(`^ +svc-instant +${MODEL}$`, 'm'))
  const { page, shot } = await newVisitor(stage)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('link', { name: 'open the playground' }).click()
  await page.getByLabel('Model').selectOption('svc-instant')
  const RESPONSES = { 'What is the capital of France?': 'Paris', 'Who wrote Hamlet?': 'William Shakespeare' }
  for (const [question, reply] of Object.entries(RESPONSES)) {
    await page.getByLabel('Your message').fill(question)
    await page.keyboard.press('Enter')
    const turn = lastTurn(page)
    await turn.getByText(reply).waitFor({ timeout: 60_000 })
    await turn.getByText('Charge').waitFor()
    expect(await fact(turn, 'Upstream')).toBe('spark')
  }
  await shot('playground-real-model')
})
