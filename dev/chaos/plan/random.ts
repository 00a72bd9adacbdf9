/**
 * Chance that can be repeated: the same name always gives the same numbers.
 */

import { randomFrom } from '@gateway/stand-ins/seeded'

export interface Random {
  /** In [0, 1). */
  next(): number
  /** A whole number, both ends included. */
  between(least: number, most: number): number
  pick<T>(items: readonly T[]): T
  /** One of the names, by its weight. */
  weighed<Name extends string>(weights: Readonly<Record<Name, number>>): Name
  shuffled<T>(items: readonly T[]): T[]
}

/** Numbers of similar names are alike at first. */
const SKIPPED = 8

export function chance(...name: (string | number)[]): Random {
  const next = randomFrom(name.join('/'))
  for (let skipped = 0; skipped < SKIPPED; skipped++) next()
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    pick: (items) => items[between(0, items.length - 1)]!,
    weighed(weights) {
      const names = Object.keys(weights) as (keyof typeof weights)[]
      let left = next() * names.reduce((sum, name) => sum + weights[name], 0)
      return names.find((name) => (left -= weights[name]) < 0) ?? names[0]!
    },
    shuffled(items) {
      const left = [...items]
      return items.map(() => left.splice(between(0, left.length - 1), 1)[0]!)
    },
  }
}
