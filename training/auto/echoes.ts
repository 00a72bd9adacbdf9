/**
 * A labelled prompt echoes one that the model learnt from when both share a run of six words, or of twelve characters
 * of ideographic text. An echo says little of unseen prompts, so the evaluation prints the figure without echoes too.
 */

import type { Prompt } from './prompts.ts'

const WORDS = 6
const IDEOGRAPHS = 12

export function findEchoes(prompts: readonly Prompt[], learnt: readonly Prompt[]): Set<Prompt> {
  const known = new Set(learnt.flatMap(runs))
  return new Set(prompts.filter((prompt) => runs(prompt).some((run) => known.has(run))))
}

function runs({ messages }: Prompt): string[] {
  return messages.flatMap(({ role, content }) =>
    role === 'user' && typeof content === 'string' ? runsOf(content) : [],
  )
}

function runsOf(text: string): string[] {
  const isIdeographic = /[\u3040-\u30ff\u3400-\u9fff]/.test(text)
  const plain = text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, isIdeographic ? '' : ' ')
  const parts = isIdeographic ? Array.from(plain) : plain.trim().split(' ')
  const length = isIdeographic ? IDEOGRAPHS : WORDS
  const count = Math.max(0, parts.length - length + 1)
  return Array.from({ length: count }, (_, at) => parts.slice(at, at + length).join(isIdeographic ? '' : ' '))
}
