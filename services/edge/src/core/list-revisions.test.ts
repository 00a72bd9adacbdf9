import { expect, test } from 'vitest'
import type { ConfigView } from '@gateway/contracts/config-api'
import type { RouterView } from '@gateway/contracts/routers-api'
import { listRevisions } from './list-revisions.ts'

const view = (service: ConfigView['service'], process: string): ConfigView => {
  return { service, process, host: 'node-1', pid: 7, revision: service === 'metering' ? null : 'a15c81358ce7' }
}
const router = (name: string): RouterView => {
  const counts = { draining: false, jobs: 0, waiting: 0, backends: [] }
  return { router: name, host: 'node-2', pid: 8, configRevision: 'b26d92469df8', ...counts }
}
const ALL = [view('keys', 'k1'), view('edge', 'e2'), view('edge', 'e1'), view('metering', 'm1')]

test('processes stand by service and name, routers among them, each with its revision', () => {
  const { processes, silent } = listRevisions({ routers: [router('r1')], alive: 1 }, ALL)
  expect(processes.map(({ service, process, revision }) => [service, process, revision])).toEqual([
    ['edge', 'e1', 'a15c81358ce7'],
    ['edge', 'e2', 'a15c81358ce7'],
    ['keys', 'k1', 'a15c81358ce7'],
    ['metering', 'm1', null],
    ['router', 'r1', 'b26d92469df8'],
  ])
  expect(silent).toBe(0)
})

test.each([
  ['a live router that did not reply', { routers: [router('r1')], alive: 3 }, ALL, 2],
  ['no router at all', null, ALL, 1],
  ['keys and metering of release 0.1.0', { routers: [router('r1')], alive: 1 }, [view('edge', 'e1')], 2],
  ['nobody', null, [], 4],
] as const)('%s is absent and counted', (_, routers, views, expected) => {
  expect(listRevisions(routers && { ...routers, routers: [...routers.routers] }, views).silent).toBe(expected)
})
