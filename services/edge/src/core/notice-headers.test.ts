import { expect, test } from 'vitest'
import { servedModelConfig } from '@gateway/contracts/config'
import { noticeHeaders } from './notice-headers.ts'

const model = (fields: object) => servedModelConfig.parse({ id: 'svc-ultra', type: 'chat', pool: 'nova', ...fields })

test('a legacy model says since when it is deprecated and what replaces it', () => {
  expect(noticeHeaders(model({ deprecatedAt: '2026-01-01', replacement: 'svc-core' }))).toEqual({
    deprecation: '@1767225600',
    link: '</v1/models/svc-core>; rel="successor-version"',
  })
})

test('a model whose end is set says when', () => {
  expect(noticeHeaders(model({ sunsetAt: '2027-06-01' }))).toEqual({ sunset: 'Tue, 01 Jun 2027 00:00:00 GMT' })
})

test('a current model says nothing', () => {
  expect(noticeHeaders(model({}))).toEqual({})
})
