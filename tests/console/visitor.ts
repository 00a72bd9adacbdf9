/**
 * The actions of a visitor, by the words that the page shows them.
 */

import { expect as expectVitest } from 'vitest'
import type { Locator, Page } from 'playwright-core'
import type { Stage, Visit } from './stage.ts'

let visitors = 0

/** A name that nobody signed in with before. */
export function newName(): string {
  return `visitor-${process.pid}-${++visitors}`
}

export async function openConsole(stage: Stage, page: Page, path = ''): Promise<void> {
  await page.goto(`${stage.gateway.url}/console${path}`)
}

/** From the sign-in page to the console. */
export async function signIn(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await heading(page, 'Overview').waitFor()
}

export interface Visitor extends Visit {
  name: string
}

/** Someone who has signed in. */
export async function newVisitor(stage: Stage, options?: Parameters<Stage['visit']>[0]): Promise<Visitor> {
  const visit = await stage.visit(options)
  const name = newName()
  await openConsole(stage, visit.page)
  await signIn(visit.page, name)
  return { ...visit, name }
}

/** Someone who has signed in and created their key. */
export async function newKeyOwner(stage: Stage, options?: Parameters<Stage['visit']>[0]) {
  const visitor = await newVisitor(stage, options)
  const { page } = visitor
  await page.getByRole('button', { name: 'Create key' }).click()
  const key = await shownKey(page)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('meter').waitFor()
  return { ...visitor, key }
}

export async function shownKey(page: Page): Promise<string> {
  const key = await page.getByLabel('The key', { exact: true }).innerText()
  expectVitest(key).toMatch(/^svc_[0-9A-Za-z]{54}$/)
  return key
}

type AccountPage = 'Overview' | 'Keys' | 'Usage' | 'Models' | 'Playground' | 'Receipts'

export async function goTo(page: Page, name: AccountPage): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name }).click()
  await heading(page, name).waitFor()
}

export function heading(page: Page, name: string): Locator {
  return page.getByRole('heading', { name, exact: true })
}

/** The last turn of the playground. */
export function lastTurn(page: Page): Locator {
  return page.getByRole('article').last()
}

/** Sends a message in the playground and waits until the response is over. */
export async function sendRequest(page: Page, question: string, model?: string): Promise<Locator> {
  if (model) await page.getByLabel('Model').selectOption(model)
  await page.getByLabel('Your message').fill(question)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('article').filter({ hasText: question }).last().waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
  return lastTurn(page)
}

/** Returns a figure below a response, by its name. */
export async function fact(turn: Locator, name: string): Promise<string> {
  return turn
    .locator('dt', { hasText: new RegExp(`^${name}$`) })
    .locator('xpath=following-sibling::dd')
    .innerText()
}
