/**
 * Prompts of our own, short and in many languages: they show the model ways of asking that data sets lack. Also the
 * sentences that stand around a request without changing what is asked.
 */

import { readFileSync } from 'node:fs'
import type { Lane } from '../src/lanes.ts'
import type { Prompt } from './prompts.ts'

const FILES = ['quick', 'deep', 'made', 'tasks', 'traps', 'varied']

export function readWritten(): Prompt[] {
  return FILES.flatMap((file) => {
    const lines = readFileSync(new URL(`written/${file}.txt`, import.meta.url), 'utf8').split('\n')
    return lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line, index) => parse(line, `${file}-${index}`))
  })
}

function parse(line: string, id: string): Prompt {
  const [lanes = '', text = ''] = line.split('\t')
  const [lane, ...also] = lanes.split(',') as [Lane, ...Lane[]]
  const messages = text.split(' || ').map((turn, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: turn.replaceAll('\\n', '\n'),
  }))
  return { id, messages, lane, also, source: 'gateway/written', lang: '' }
}
