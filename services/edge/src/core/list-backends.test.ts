import type { BackendView, RouterView } from '@gateway/contracts/routers-api'
import { expect, test } from 'vitest'
import { listBackends } from './list-backends.ts'

const router = (pid: number, ...backends: Partial<BackendView>[]): RouterView => ({
  router: `r${pid}`,
  host: 'h',
  pid,
  configRevision: 'abc',
  draining: false,
  jobs: 0,
  waiting: 0,
  backends: backends.map((view) => ({
    backend: 'a',
    state: 'healthy',
    untilMs: null,
    control: null,
    outstanding: 1,
    places: 4,
    models: [],
    ...view,
  })),
})

test('a backend has the worst state that a router sees, with the reason, and the places of all', () => {
  expect(listBackends([router(1, {}), router(2, { state: 'cooling', untilMs: 1_000 })])).toEqual([
    {
      id: 'a',
      object: 'backend',
      state: 'cooling',
      control: null,
      reasons: ['h:2: cooling until 1970-01-01T00:00:01.000Z'],
      outstanding: 2,
      slots: 8,
    },
  ])
})

test('a reason names the beginning of an ejection and the failure that caused it', () => {
  const ejected = { state: 'ejected', untilMs: 4_000, sinceMs: 1_000, cause: 'http_500' } as const
  expect(listBackends([router(1, ejected)])[0]!.reasons).toEqual([
    'h:1: ejected since 1970-01-01T00:00:01.000Z (http_500) until 1970-01-01T00:00:04.000Z',
  ])
})

test("an operator's word stands before all that routers have learnt", () => {
  const drained = { state: 'drained', control: 'drained' } as const
  expect(listBackends([router(1, drained), router(2, drained)])).toMatchObject([
    { state: 'drained', control: 'drained', reasons: ['an operator has drained it'] },
  ])
  expect(listBackends([router(1, { state: 'ejected', control: 'ejected' })])).toMatchObject([
    { state: 'ejected', reasons: ['an operator has ejected it'] },
  ])
})

test('a model that is not well is named, and its backend stays usable', () => {
  const models = [{ model: 'm', state: 'on_trial' as const, untilMs: null }]
  expect(listBackends([router(1, { models })])).toMatchObject([{ state: 'usable', reasons: ['h:1: m is half-open'] }])
})
