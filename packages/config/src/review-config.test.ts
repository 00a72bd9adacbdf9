import { expect, test } from 'vitest'
import { reviewConfig } from './review-config.ts'

const TEXT = `backends:
  - { id: gpu-a, url: http://gpu-a/v1, dialect: openai, apiKey: "\${GPU_A_KEY}" }
  - id: gpu-b
    url: http://gpu-b/v1
    dialect: openai
    headers:
      x-team: "\${TEAM}"
pools:
  - { id: spark, targets: [{ backend: gpu-a, model: m }] }
`

test('a variable that is not set is a mistake at its line, and no value is shown', () => {
  const { config, problems } = reviewConfig(TEXT, 'a.yaml', { TEAM: 'a-secret' })
  expect(config).not.toBeNull()
  expect(problems).toEqual([
    { field: 'backends[0].apiKey', message: expect.stringContaining('GPU_A_KEY is not set'), line: 2, column: 57 },
  ])
  expect(reviewConfig(TEXT, 'a.yaml', { GPU_A_KEY: 'k' }).problems).toEqual([
    { field: 'backends[1].headers.x-team', message: expect.stringContaining('TEAM is not set'), line: 7, column: 7 },
  ])
  expect(JSON.stringify(reviewConfig(TEXT, 'a.yaml', { TEAM: 'a-secret' }).problems)).not.toContain('a-secret')
})

test('where secrets are not expected, none is missed', () => {
  expect(reviewConfig(TEXT, 'a.yaml', null).problems).toEqual([])
})

test('an oversight is a warning at its line', () => {
  expect(reviewConfig(TEXT, 'a.yaml', null).warnings).toEqual([
    { field: 'backends[1].id', message: expect.stringContaining('"gpu-b" is never called'), line: 3, column: 5 },
  ])
})

test('a file that no service would take has its mistakes, and nothing else is looked for', () => {
  const review = reviewConfig('pools: []\nplanes: []', 'a.yaml', {})
  expect(review.config).toBeNull()
  expect(review.problems.map(({ field, line }) => [field, line])).toEqual([
    ['pools', 1],
    ['planes', 2],
  ])
  expect(review.warnings).toEqual([])
  expect(reviewConfig('a: [', 'a.yaml', {}).problems).toHaveLength(1)
})
