/**
 * Labelled prompts from a file of JSON lines, and the sources that their text comes from.
 */

import { readFileSync } from 'node:fs'
import type { ChatMessage } from '@gateway/contracts/chat'
import { type Lane, LANES } from '../../packages/auto/src/lanes.ts'

export interface Prompt {
  id: string
  messages: ChatMessage[]
  lane: Lane
  also: Lane[]
  source: string
  lang: string
  /** Its weight in training, where that does not follow from its source's size. */
  weight?: number
  /** The public source whose kind of prompt it follows. */
  after?: string
}

/** Sources that share their texts (MGSM is GSM8K translated) are one. */
const SAME_ORIGIN: Record<string, string> = { 'google-research/url-nlp:mgsm': 'openai/grade-school-math' }

export function readPrompts(path: string): Prompt[] {
  const prompts = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Prompt)
  for (const { id, lane } of prompts) if (!LANES.includes(lane)) throw new Error(`prompt ${id}: unknown lane ${lane}`)
  return prompts
}

/** The sources whose text a prompt holds: more than one where it was composed. */
export function origins(prompt: Prompt): string[] {
  const named = prompt.source.replace(' (composed)', '').split(' + ')
  return [...new Set(named.map((name) => SAME_ORIGIN[name] ?? name))]
}
