import { expect, test } from 'vitest'
import { keySlot, newestOwners, readClusterMap } from './cluster-map.ts'

test.each([
  ['123456789', 12_739],
  ['foo', 12_182],
  ['{user1000}.following', 3_443],
  ['{user1000}.followers', 3_443],
  ['foo{}{bar}', 8_363],
  ['', 0],
])('%s lies in slot %i, as CLUSTER KEYSLOT says', (key, slot) => {
  expect(keySlot(key)).toBe(slot)
})

const node = (id: string, port: number, flags: string, epoch: number) =>
  `${id} 10.0.0.1:${port}@1${port} ${flags} - 0 0 ${epoch} connected`

/** The map before and after the election, as a voter reports it that knows of its end or not. */
const [BEFORE, AFTER] = [
  readClusterMap(
    [[0, 16383, ['10.0.0.1', 7001, 'old'], ['10.0.0.1', 7002, 'new']]],
    [node('old', 7001, 'master,fail', 1), node('new', 7002, 'slave', 1), ''].join('\n'),
    '10.0.0.1:7003',
  ),
  readClusterMap(
    [[0, 16383, ['10.0.0.1', 7002, 'new']]],
    [node('old', 7001, 'master,fail', 1), node('new', 7002, 'master', 7), ''].join('\n'),
    '10.0.0.1:7004',
  ),
]

test.each([
  ['the voter that has heard of the election, last', [BEFORE, AFTER]],
  ['the voter that has heard of the election, first', [AFTER, BEFORE]],
])('a slot belongs to the winner of its election, in any order of the replies: %s', (_, maps) => {
  expect(new Set(newestOwners(maps))).toEqual(new Set(['10.0.0.1:7002']))
})

test('each slot is decided by itself: one node may have heard of one election, and another of another', () => {
  const nodes = (one: number, two: number) => [node('a', 1, 'master', one), node('b', 2, 'master', two)].join('\n')
  const mapFromA = readClusterMap(
    [
      [0, 9, ['h', 1, 'a']],
      [10, 19, ['h', 9, 'gone']],
    ],
    nodes(5, 1),
    'h:3',
  )
  const mapFromB = readClusterMap(
    [
      [0, 9, ['h', 8, 'gone']],
      [10, 19, ['h', 2, 'b']],
    ],
    nodes(1, 6),
    'h:4',
  )
  const owners = newestOwners([mapFromA, mapFromB])
  expect([owners[0], owners[9], owners[10], owners[19], owners[20]]).toEqual(['h:1', 'h:1', 'h:2', 'h:2', undefined])
})

test('a node that does not know its own address is the one that sent the map', () => {
  const map = readClusterMap([[0, 1, [null, 7001, 'me']]], node('me', 7001, 'myself,master', 1), 'redis-0.example:7001')
  expect(newestOwners([map])[0]).toBe('redis-0.example:7001')
})
