/**
 * Trains the chooser and writes its model: `npm run auto:train -- <train.jsonl>`. Seeded: the same prompts and code give
 * the same file. Without a file it trains on the prompts of this repository alone.
 */

import { writeFileSync } from 'node:fs'
import { packModel } from '../src/model.ts'
import { chosenLane, isRight, readOwn, train } from './examples.ts'
import { readPrompts } from './prompts.ts'

const MODEL = new URL('../src/model.json', import.meta.url)

const path = process.argv[2]
const given = path ? readPrompts(path) : []
const startedAtMs = performance.now()
const networks = train(given)
const file = `${JSON.stringify(packModel(networks), null, 1)}\n`
writeFileSync(MODEL, file)
const prompts = [...given, ...readOwn()]
const right = prompts.filter((prompt) => isRight(prompt, chosenLane(networks, prompt))).length
const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0)
console.log(`${prompts.length} prompts, ${seconds} s, ${(file.length / 1024).toFixed(0)} KiB`)
console.log(`right on the prompts trained on: ${(right / prompts.length).toFixed(3)} (flatters; see auto:evaluate)`)
