import { expect, test } from 'vitest'
import { drawChart } from './chart.ts'

const chart = (values: (number | undefined)[], xs: (number | string)[] = [10, 100, 1_000]) =>
  drawChart({ title: 'Streams', xTitle: 'streams', xs, panels: [{ title: 'ms', series: [{ name: 'p50', values }] }] })

const points = (svg: string) =>
  /points="([^"]*)"/
    .exec(svg)?.[1]
    ?.split(' ')
    .map((point) => point.split(',').map(Number))

test('each value is a point, further right as its x grows and higher as its y grows', () => {
  const drawn = points(chart([1, 2, 3]))!
  expect(drawn).toHaveLength(3)
  expect(drawn.map(([x]) => x)).toEqual(drawn.map(([x]) => x!).toSorted((a, b) => a - b))
  expect(drawn.map(([, y]) => y)).toEqual(drawn.map(([, y]) => y!).toSorted((a, b) => b - a))
})

test('steps by a factor of ten lie at even distances', () => {
  const [[a], [b], [c]] = points(chart([1, 1, 1])) as [number[], number[], number[]]
  expect(b! - a!).toBeCloseTo(c! - b!)
})

test('a value that was not measured leaves a gap, zeros and single points are drawn', () => {
  expect(points(chart([1, undefined, 3]))).toHaveLength(2)
  expect(
    points(chart([0, 0, 0]))!
      .flat()
      .every(Number.isFinite),
  ).toBe(true)
  expect(
    points(chart([5], [1]))!
      .flat()
      .every(Number.isFinite),
  ).toBe(true)
  expect(
    points(chart([0.001, 40, 9_000]))!
      .flat()
      .every(Number.isFinite),
  ).toBe(true)
})

test('words stand at even distances, and cannot break the picture', () => {
  const svg = chart([1, 2], ['1 + 1', 'a <b> & c'])
  expect(svg).toContain('a &lt;b> &amp; c')
  expect(points(svg)).toHaveLength(2)
})
