import { expect, test } from 'vitest'
import { describeOverage } from './describe-overage.ts'

const project = { spent: 900, unit: 'tokens' } as const

test('switching overage on says from where on requests are billed, and where they end', () => {
  expect(describeOverage(project, { beyond: 1_000, up_to: 3_000 }, false)).toBe(
    'This month has used 900 tokens. From the next request on, requests beyond 1,000 tokens are served and billed, up to the spend limit of 3,000 tokens.',
  )
  expect(describeOverage({ spent: 12.5, unit: 'usd' }, { beyond: 100, up_to: null }, false)).toMatch(
    /^This month has used \$12\.50?\. .* beyond \$100(\.00)? are served and billed, without a limit\.$/,
  )
})

test('a spend limit below the allowance is said to hold', () => {
  expect(describeOverage(project, { beyond: 1_000, up_to: 1_000 }, false)).toContain(
    'still refused at the spend limit of 1,000 tokens',
  )
})

test('switching overage off says where requests are refused, and whether that is now', () => {
  expect(describeOverage(project, { beyond: 1_000, up_to: 3_000 }, true)).toMatch(/refused at 1,000 tokens\.$/)
  expect(describeOverage({ ...project, spent: 1_200 }, { beyond: 1_000, up_to: null }, true)).toMatch(
    /1,000 tokens: at once\.$/,
  )
  expect(describeOverage(project, { beyond: 1_000, up_to: 500 }, true)).toMatch(/refused at 500 tokens: at once\.$/)
})
