/**
 * Prints the time per choice of the shipped classifier and its memory (run with `--expose-gc`). It takes some of this
 * repository's own prompts, or those of a named file. Each prompt is chosen for several times. The median of its times
 * leaves out the work of other processes, and all times together leave it in.
 */

import { setTimeout } from 'node:timers/promises'

const ROUNDS = 7
const BYTES = 2_048
const MOST_PROMPTS = 3_000
const MIB = 2 ** 20

const before = await heldMib()
const { chooseAuto } = await import('../../packages/auto/src/choose-auto.ts')
const { LANE_IDS } = await import('../../packages/auto/src/lanes.ts')
const laneIds = Object.values(LANE_IDS)
timeMs('Hello there')
console.log(`memory: ${((await heldMib()) - before).toFixed(1)} MiB`)

const { readOwn } = await import('./examples.ts')
const { readPrompts } = await import('./prompts.ts')
const path = process.argv[2]
const all = (path ? readPrompts(path) : readOwn()).map(({ messages }) => lastText(messages))
const stride = Math.ceil(all.length / MOST_PROMPTS)
const texts = all.filter((_, index) => index % stride === 0)
report('prompts of 2 KB', texts.map(padded))
report('prompts as they come', texts)

/**
 * Memory that is held on the heap and outside of it, after collections where `--expose-gc` allows them. Buffers go
 * after the first.
 */
async function heldMib(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.()
    await setTimeout(20)
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / MIB
}

/** The text, followed by others, cut at 2 KB. */
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
  const every = rounds.flat()
  for (const [kind, times] of [
    ['median of each prompt', medians],
    ['every choice', every],
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
