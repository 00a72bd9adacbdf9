/** Time per choice of the shipped chooser, on prompts of 2 KB and as they come: `npm run auto:measure -- <prompts.jsonl>`. */

import { chooseAuto } from '../../services/edge/src/core/choose-auto.ts'
import { LANE_IDS } from '../../services/edge/src/core/auto/lanes.ts'
import { readPrompts } from './prompts.ts'

const path = process.argv[2]
if (!path) throw new Error('usage: npm run auto:measure -- <prompts.jsonl>')
const ROUNDS = 5
const BYTES = 2_048
const laneIds = Object.values(LANE_IDS)
const texts = readPrompts(path).map(({ messages }) => messages.map(({ content }) => String(content)).join('\n'))
const padded = texts.map((text, index) => {
  let long = text
  for (let next = index + 1; Buffer.byteLength(long) < BYTES; next++) long += `\n${texts[next % texts.length]}`
  return Buffer.from(long).subarray(0, BYTES).toString()
})
report('2 KB prompts', padded)
report('prompts as they come', texts)

function report(name: string, prompts: readonly string[]): void {
  const timesMs: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    for (const content of prompts) {
      const startedAtMs = performance.now()
      chooseAuto([{ role: 'user', content }], laneIds)
      if (round > 0) timesMs.push(performance.now() - startedAtMs)
    }
  }
  timesMs.sort((one, other) => one - other)
  const at = (share: number): string => (timesMs[Math.floor(share * timesMs.length)] ?? 0).toFixed(3)
  console.log(`${name}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms (${timesMs.length} choices)`)
}
