/**
 * Prompts of our own in many languages, each written by hand: they show the model requests that no grammar has. Each is
 * a source of its own.
 */

import { readdirSync, readFileSync } from 'node:fs'
import type { Lane } from '../../packages/auto/src/lanes.ts'
import type { Prompt } from './prompts.ts'

const FOLDER = new URL('written/', import.meta.url)

export function readWritten(): Prompt[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.txt'))
    .toSorted()
    .flatMap((file) => {
      const lines = readFileSync(new URL(file, FOLDER), 'utf8').split('\n')
      return lines
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line, index) => parse(line, `${file.replace('.txt', '')}-${index}`))
    })
}

function parse(line: string, id: string): Prompt {
  const [lanes = '', text = '', after] = line.split('\t')
  const [lane, ...also] = lanes.split(',') as [Lane, ...Lane[]]
  const messages = text.split(' || ').map((turn, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: turn.replaceAll('\\n', '\n'),
  }))
  return { id, messages, lane, also, source: `gateway/${id}`, lang: '', after }
}
