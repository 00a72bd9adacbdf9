/**
 * Time per choice of the shipped chooser: `npm run auto:measure -- <prompts.jsonl>`. Every prompt is chosen for several
 * times; the median of its times leaves out what other processes did, and all times together leave it in.
 */

import { LANE_IDS } from '../src/lanes.ts'
import { chooseAuto } from '../src/choose-auto.ts'
import { readPrompts } from './prompts.ts'

const ROUNDS = 7
const BYTES = 2_048

const path = process.argv[2]
if (!path) throw new Error('usage: npm run auto:measure -- <prompts.jsonl>')
const laneIds = Object.values(LANE_IDS)
const texts = readPrompts(path).map(({ messages }) => lastText(messages))
report('prompts of 2 KB', texts.map(padded))
report('prompts as they come', texts)

/** The text, followed by others of the file, cut at 2 KB. */
function padded(text: string, index: number): string {
  let long = text
  for (let next = index + 1; Buffer.byteLength(long) < BYTES; next++) long += `\n${texts[next % texts.length]}`
  return Buffer.from(long).subarray(0, BYTES).toString()
}

function report(name: string, prompts: readonly string[]): void {
  for (const prompt of prompts) timeMs(prompt)
  const rounds = Array.from({ length: ROUNDS }, () => prompts.map(timeMs))
  const medians = prompts.map((_, index) =>
    percentile(
      0.5,
      rounds.map((times) => times[index] ?? 0),
    ),
  )
  const all = rounds.flat()
  for (const [kind, times] of [
    ['median of each prompt', medians],
    ['every choice', all],
  ] as const) {
    const figures = [0.5, 0.99, 0.999].map((share) => `p${share * 100} ${percentile(share, times).toFixed(3)} ms`)
    console.log(`${name}, ${kind}: ${figures.join(', ')} (${times.length})`)
  }
}

function timeMs(content: string): number {
  const startedAtMs = performance.now()
  chooseAuto([{ role: 'user', content }], laneIds)
  return performance.now() - startedAtMs
}

function percentile(share: number, times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(share * times.length)] ?? 0
}

/** The prompts of a training file are plain text. */
function lastText(messages: { content?: unknown }[]): string {
  const content = messages.at(-1)?.content
  return typeof content === 'string' ? content : ''
}
