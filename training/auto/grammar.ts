/**
 * Prompts of our own from small grammars, one file a language. A file has `$slot = a | b`, `== lane,also`, then one
 * template a line with {slots}, [one|or the other] and ` >> ` between the turns. Seeded, so the same files give the
 * same prompts.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { type Lane, LANES } from '../../packages/auto/src/lanes.ts'
import { mulberry32 } from './fit.ts'
import type { Prompt } from './prompts.ts'

const FOLDER = new URL('grammar/', import.meta.url)
const SEED = 5
/** The number of fillings of a template; one with few possible fillings gives fewer. */
const FILLINGS = 6
const DEPTH = 6

interface Template {
  lane: Lane
  also: Lane[]
  text: string
}

export function readGrammars(): Prompt[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.txt'))
    .toSorted()
    .flatMap((file) => promptsOf(readFileSync(new URL(file, FOLDER), 'utf8'), file.replace('.txt', '')))
}

export function promptsOf(grammar: string, lang: string): Prompt[] {
  const random = mulberry32(SEED)
  const { slots, templates } = parse(grammar)
  return templates.flatMap(({ lane, also, text }, at) => {
    const fillings = new Set<string>()
    for (let round = 0; round < FILLINGS; round++) fillings.add(fill(text, slots, random))
    return [...fillings].map((filling, index): Prompt => {
      const messages = filling.split(' >> ').map((turn, place) => ({
        role: place % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: turn.replaceAll('\\n', '\n').trim(),
      }))
      return { id: `${lang}-${at}-${index}`, messages, lane, also, source: `gateway/grammar-${lang}-${at}`, lang }
    })
  })
}

function parse(grammar: string): { slots: Map<string, string[]>; templates: Template[] } {
  const slots = new Map<string, string[]>()
  const templates: Template[] = []
  let lanes: Lane[] = []
  for (const line of grammar.split('\n')) {
    if (line.trim() === '' || line.startsWith('# ')) continue
    const slot = /^\$(\w+) = (.+)$/.exec(line)
    if (slot) slots.set(slot[1]!, slot[2]!.split(' | '))
    else if (line.startsWith('== ')) lanes = line.slice(3).trim().split(',').map(asLane)
    else templates.push({ lane: lanes[0]!, also: lanes.slice(1), text: line })
  }
  return { slots, templates }
}

function asLane(word: string): Lane {
  const lane = LANES.find((candidate) => candidate === word)
  if (!lane) throw new Error(`grammar: unknown lane ${word}`)
  return lane
}

function fill(template: string, slots: ReadonlyMap<string, string[]>, random: () => number): string {
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? ''
  let text = template
  for (let depth = 0; depth < DEPTH; depth++) {
    const before = text
    text = text
      .replace(/\[([^[\]]*\|[^[\]]*)\]/g, (_, choices: string) => pick(choices.split('|')))
      .replace(/\{(\w+)\}/g, (match, name: string) => (slots.has(name) ? pick(slots.get(name) ?? []) : match))
    if (text === before) break
  }
  return text
    .replace(/ {2,}/g, ' ')
    .replace(/ ([?!.,;])(?=\s|$)/g, (match, mark: string) => (/[?!;]/.test(mark) ? match : mark))
}
