/**
 * The console serves everyone: screen readers, keyboards, phones, both colour schemes, people who get sick from motion.
 */

import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { expectAccessible } from './accessible.ts'
import { stage } from './shared-stage.ts'
import { sendRequest, goTo, newKeyOwner, newName, newVisitor, openConsole } from './visitor.ts'

const PAGES = ['Overview', 'Keys', 'Usage', 'Models', 'Receipts', 'Playground'] as const
const PHONE = { viewport: { width: 375, height: 780 }, isMobile: true, hasTouch: true }

describe.each(['light', 'dark'] as const)('in the %s scheme', (colorScheme) => {
  test('axe finds nothing on any page, with and without a key', async () => {
    const { page } = await stage.visit({ colorScheme })
    await openConsole(stage, page)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await expectAccessible(page, 'sign-in')
    await openConsole(stage, page, '/callback?code=stolen&state=made-up')
    await page.getByRole('alert').waitFor()
    await expectAccessible(page, 'sign-in refused')

    const visitor = await newVisitor(stage, { colorScheme, reducedMotion: 'reduce' })
    await expectAccessible(visitor.page, 'overview without a key')
    await visitor.page.getByRole('button', { name: 'Create key' }).click()
    await visitor.page.getByRole('meter').waitFor()
    await expectAccessible(visitor.page, 'key created')
    for (const name of PAGES) {
      await goTo(visitor.page, name)
      await settled(visitor.page)
      await expectAccessible(visitor.page, name)
    }
    await sendRequest(visitor.page, 'Hello!')
    await expectAccessible(visitor.page, 'playground with a response')
    await expect
      .poll(
        async () => {
          await goTo(visitor.page, 'Keys')
          await goTo(visitor.page, 'Usage')
          return visitor.page.getByRole('img', { name: /a day/ }).count()
        },
        { timeout: 20_000, interval: 1_000 },
      )
      .toBe(1)
    await expectAccessible(visitor.page, 'usage with a chart')
    await visitor.shot(`usage-${colorScheme}`)
    await visitor.page.getByRole('button', { name: 'Table' }).click()
    await expectAccessible(visitor.page, 'usage as a table')
    await goTo(visitor.page, 'Keys')
    await visitor.page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await visitor.page.getByRole('dialog').waitFor()
    await expectAccessible(visitor.page, 'revoke')
    await visitor.shot(`revoke-${colorScheme}`)
  })
})

test('on a phone nothing scrolls sideways, and everything can be reached', async () => {
  const { page, shot } = await newVisitor(stage, PHONE)
  await shot('phone-overview-without-key')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('meter').waitFor()
  await expectNoSideways(page, 'key created')
  await shot('phone-key-created')
  for (const name of PAGES) {
    await goTo(page, name)
    await settled(page)
    await expectNoSideways(page, name)
    await shot(`phone-${name.toLowerCase()}`)
  }
  await sendRequest(page, `A long word: ${'x'.repeat(200)}`)
  await expectNoSideways(page, 'playground with a response')
  await shot('phone-playground-answer')
})

test('a visitor gets from signing in to a response with the keyboard alone, the focus always in sight', async () => {
  const { page } = await stage.visit()
  await openConsole(stage, page)
  await press(page, 'Sign in')
  await page.getByLabel('Name').waitFor()
  await page.keyboard.type(newName())
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Create key' }).waitFor()
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Skip to the page')
  await press(page, 'Create key')
  await page.getByRole('meter').waitFor()
  await press(page, 'open the playground')
  await page.getByText('Send a message').waitFor()
  expect(await focused(page)).toBe('Playground')
  await tabTo(page, 'Your message')
  await page.keyboard.type('Hello!')
  await page.keyboard.press('Enter')
  await page.getByText('Charge').waitFor()
  expect(await focused(page)).toBe('Your message')
})

test('a dialog keeps the focus, opens on Cancel and gives it back', async () => {
  const { page } = await newKeyOwner(stage)
  await goTo(page, 'Keys')
  await press(page, 'Revoke')
  await page.getByRole('dialog').waitFor()
  await expect.poll(() => focused(page)).toBe('Cancel')
  const inside = new Set<string>()
  for (let step = 0; step < 5; step++) {
    await page.keyboard.press('Tab')
    inside.add(await focused(page))
  }
  expect([...inside].sort()).toEqual(['Cancel', 'Revoke key'])
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await expect.poll(() => focused(page)).toBe('Revoke')
})

test('a visitor who prefers reduced motion sees none', async () => {
  const { page } = await newKeyOwner(stage, { reducedMotion: 'reduce' })
  await goTo(page, 'Keys')
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  await page.getByRole('dialog').waitFor()
  const longest = await page.evaluate(() =>
    Math.max(0, ...document.getAnimations().map((animation) => Number(animation.effect?.getComputedTiming().duration))),
  )
  expect(longest).toBeLessThan(10)
})

async function expectNoSideways(page: Page, where: string): Promise<void> {
  // A phone shows a page that is too wide smaller: only the screen's own width is a measure.
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  expect({ where, width }).toEqual({ where, width: PHONE.viewport.width })
}

/** Nothing is on its way any more. */
async function settled(page: Page): Promise<void> {
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
}

/** Returns the words that a screen reader would say of the focused element. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement
    return element?.getAttribute('aria-label') ?? element?.textContent?.trim() ?? ''
  })
}

async function tabTo(page: Page, name: string): Promise<void> {
  for (let step = 0; step < 40; step++) {
    if ((await focused(page)) === name) return expectFocusInSight(page, name)
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${name}`)
}

async function press(page: Page, name: string): Promise<void> {
  await page.getByText(name, { exact: true }).first().waitFor()
  await tabTo(page, name)
  await page.keyboard.press('Enter')
}

async function expectFocusInSight(page: Page, name: string): Promise<void> {
  const isSeen = await page.evaluate(() => {
    const element = document.activeElement!
    const style = getComputedStyle(element)
    const frame = getComputedStyle(element.closest('form') ?? element)
    const { top, bottom } = element.getBoundingClientRect()
    const marked = style.outlineStyle !== 'none' || frame.borderColor !== 'transparent'
    return marked && bottom > 0 && top < window.innerHeight
  })
  expect(isSeen, `the focus on ${name} can be seen`).toBe(true)
}
