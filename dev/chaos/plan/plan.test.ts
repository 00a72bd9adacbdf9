import { describe, expect, test } from 'vitest'
import { KINDS, planFaults } from './faults.ts'
import { planNetworkFaults } from './network-faults.ts'
import { ownersFor } from './owners.ts'
import { projectOwnersFor } from './projects.ts'
import { CLOCKED_SERVERS, hostsOfServers, LINKS, PROCESSES, REDIS_HOSTS, SERVERS, VICTIMS } from './places.ts'
import { planRequest } from './requests.ts'

const SIZE = { requests: 10_000, kills: 25 }

describe('a seed', () => {
  test('names one schedule of faults and one series of requests', () => {
    expect(planFaults({ ...SIZE, seed: 7 })).toEqual(planFaults({ ...SIZE, seed: 7 }))
    expect(planFaults({ ...SIZE, seed: 7 })).not.toEqual(planFaults({ ...SIZE, seed: 8 }))
    const requests = (seed: number) => Array.from({ length: 100 }, (_, index) => planRequest(seed, index + 1))
    expect(requests(7)).toEqual(requests(7))
    expect(requests(7)).not.toEqual(requests(8))
  })
})

describe('the schedule', () => {
  const faults = planFaults({ ...SIZE, seed: 7 })

  test('has as many kills as the options say, of every process and server', () => {
    const kills = faults.filter(({ kind }) => kind === 'kill')
    expect(kills).toHaveLength(SIZE.kills)
    expect(new Set(kills.map((fault) => 'victim' in fault && fault.victim))).toEqual(new Set(VICTIMS))
  })

  test('is in order and within the requests', () => {
    const places = faults.map(({ afterRequests }) => afterRequests)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places[0]).toBeGreaterThan(0)
    expect(places.at(-1)).toBeLessThan(SIZE.requests)
  })

  test('has faults of every kind', () => {
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(Object.keys(KINDS)))
  })

  test('can be held to one kind', () => {
    expect(planFaults({ ...SIZE, seed: 7, only: ['freeze'] }).every(({ kind }) => kind === 'freeze')).toBe(true)
  })
})

describe('the schedule of a network run', () => {
  const faults = planNetworkFaults({ seed: 7, requests: 10_000, kills: 40 })

  test('parts every two that speak, and takes every host off the network', () => {
    const parted = faults.filter(({ kind }) => kind === 'mute').map((fault) => 'link' in fault && fault.link)
    const isolated = faults.filter(({ kind }) => kind === 'isolate').map((fault) => 'victim' in fault && fault.victim)
    expect(new Set(parted)).toEqual(new Set(LINKS))
    expect(new Set(isolated)).toEqual(new Set(PROCESSES))
  })

  test('fails every server over, and takes every copy off the network, where servers have copies', () => {
    const more = planNetworkFaults({ seed: 7, requests: 10_000, kills: 40, replicated: 'copies' })
    const failedOver = more.flatMap((fault) => (fault.kind === 'fail-over' ? [fault.server] : []))
    const isolated = more.flatMap((fault) => (fault.kind === 'isolate' ? [fault.victim] : []))
    expect(new Set(failedOver)).toEqual(new Set(SERVERS))
    expect(new Set(isolated)).toEqual(new Set([...PROCESSES, ...Object.values(hostsOfServers('copies')).flat()]))
    expect(faults.some(({ kind }) => kind === 'fail-over')).toBe(false)
  })

  test('slows the disk of every server, sets their clocks wrong and splits Redis both ways', () => {
    const few = planNetworkFaults({ seed: 7, requests: 500, kills: 3, replicated: 'copies' })
    const slowed = few.flatMap((fault) => (fault.kind === 'slow-disk' ? [fault.server] : []))
    const splits = few.flatMap((fault) => (fault.kind === 'split' ? [fault.together] : []))
    const clocks = few.flatMap((fault) => (fault.kind === 'clock' ? [fault.victim] : []))
    expect(new Set(slowed)).toEqual(new Set(SERVERS))
    expect(new Set(splits)).toEqual(new Set([false, true]))
    expect(clocks).toEqual(expect.arrayContaining([...CLOCKED_SERVERS]))
    expect(faults.some(({ kind }) => kind === 'slow-disk' || kind === 'split')).toBe(false)
  })

  test.each(['sentinels', 'cluster'] as const)('injects every fault of a Redis whose %s decide on it', (replicated) => {
    const few = planNetworkFaults({ seed: 7, requests: 600, kills: 2, replicated })
    const ofRedis = few.flatMap((fault) => (fault.kind === 'fail-over' && fault.server === 'redis' ? [fault] : []))
    const splits = few.flatMap((fault) => (fault.kind === 'split' ? [fault.together] : []))
    const kinds = few.map(({ kind }) => kind)
    const isolated = few.flatMap((fault) => (fault.kind === 'isolate' ? [fault.victim] : []))
    expect(new Set(ofRedis.map(({ killed = false }) => killed))).toEqual(new Set([false, true]))
    expect(new Set(splits)).toEqual(new Set([false, true]))
    expect(kinds).toEqual(expect.arrayContaining(['unheard', 'late']))
    expect(isolated.some((host) => REDIS_HOSTS[replicated].some((one) => one === host))).toBe(true)
  })

  test('follows from its seed', () => {
    expect(planNetworkFaults({ seed: 7, requests: 10_000, kills: 40 })).toEqual(faults)
    expect(planNetworkFaults({ seed: 8, requests: 10_000, kills: 40 })).not.toEqual(faults)
  })
})

test.each([1, 400, 999, 1_000, 1_001, 2_000])('each of %i requests has an owner that the run opens', (requests) => {
  const owners = new Set([...ownersFor(requests), ...projectOwnersFor(requests)].map(({ name }) => name))
  for (let seed = 1; seed <= 100; seed++) expect(owners).toContain(planRequest(seed, requests).owner)
})

test('clients of every kind send requests within the first thousand', () => {
  const kinds = new Set(Array.from({ length: 1_000 }, (_, index) => planRequest(3, index + 1).kind))
  expect([...kinds].sort()).toEqual([
    'administer',
    'compact',
    'dead-key',
    'embeddings',
    'leaver',
    'plain',
    'repeating',
    'revoke',
    'rotate',
    'sdk-plain',
    'sdk-stream',
    'slow-reader',
    'socket',
    'stream',
    'thinker',
  ])
})

test('clients of the last release have no key of a project, and no administrator', () => {
  const owners = new Set(ownersFor(2_000).map(({ name }) => name))
  for (let number = 1; number <= 2_000; number++) {
    const { owner, kind } = planRequest(3, number, { ways: ['chat'], isFormer: true })
    expect(owners).toContain(owner)
    expect(kind).not.toBe('administer')
  }
})

test('each key of a project is used within the first thousand requests', () => {
  const used = new Set(Array.from({ length: 1_000 }, (_, index) => planRequest(3, index + 1).owner))
  for (const { name } of projectOwnersFor(1_000)) expect(used).toContain(name)
})
