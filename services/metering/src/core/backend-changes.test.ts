import fc from 'fast-check'
import { showRoutersReply } from '@gateway/contracts/routers-api'
import { expect, test } from 'vitest'
import { backendChanges } from './backend-changes.ts'

const reply = (alive: number, ...routers: Record<string, { state?: string; control?: string | null }>[]) =>
  showRoutersReply.parse({
    alive,
    routers: routers.map((backends, index) => ({
      ...{ router: `r${index}`, host: 'host', pid: index, configRevision: '1', draining: false, jobs: 0, waiting: 0 },
      backends: Object.entries(backends).map(([backend, { state = 'healthy', control = null }]) => {
        return { backend, state, control, untilMs: null, outstanding: 0, places: 1, models: [] }
      }),
    })),
  })

test.each([
  ['healthy everywhere', [], reply(1, { a: {} }), []],
  [
    'ejected by one router of two',
    [],
    reply(2, { a: {} }, { a: { state: 'ejected' } }),
    [{ backend: 'a', isOut: true, reasons: ['the router host:1 has ejected it'] }],
  ],
  ['still half-open', ['a'], reply(1, { a: { state: 'on_trial' } }), []],
  ['cooling after a 429', [], reply(1, { a: { state: 'cooling' } }), []],
  ['well again', ['a'], reply(2, { a: {} }, { a: {} }), [{ backend: 'a', isOut: false, reasons: [] }]],
  ['well again, says one router, and another does not respond', ['a'], reply(2, { a: {} }), []],
  [
    'drained by an operator',
    [],
    reply(2, { a: { control: 'drained' } }, { a: { control: 'drained' } }),
    [{ backend: 'a', isOut: true, reasons: ['an operator has drained it'] }],
  ],
  ['no longer in the config', ['a'], reply(1, { b: {} }), []],
] as const)('a backend that is %s', (_, out, seen, changes) => {
  expect(backendChanges(new Set(out), seen)).toEqual(changes)
})

test('with every look, changes of a backend alternate, and the last one is its state', () => {
  const state = fc.constantFrom('healthy', 'ejected', 'on_trial', 'cooling')
  const look = fc.record({ first: state, second: state, isComplete: fc.boolean() })
  fc.assert(
    fc.property(fc.array(look, { maxLength: 30 }), (looks) => {
      const out = new Set<string>()
      const events: boolean[] = []
      for (const { first, second, isComplete } of [
        ...looks,
        { first: 'healthy', second: 'healthy', isComplete: true },
      ]) {
        const routers = [{ a: { state: first } }, ...(isComplete ? [{ a: { state: second } }] : [])]
        for (const { isOut } of backendChanges(out, reply(2, ...routers))) {
          events.push(isOut)
          if (isOut) out.add('a')
          else out.delete('a')
        }
      }
      expect(events).toEqual(events.map((_, index) => index % 2 === 0))
      expect(events.length % 2).toBe(0)
    }),
  )
})
