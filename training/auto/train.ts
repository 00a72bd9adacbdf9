/**
 * Trains the classifier and writes its model. It reads the prompts of this repository, those of `--prompts <folder>`, and
 * those of the files that are named. Seeded: the same prompts and code give the same file.
 */

import { writeFileSync } from 'node:fs'
import { MODEL_NAME, packModel } from '../../packages/auto/src/model.ts'
import { readArguments } from './collections.ts'
import { chosenLane, isRight, readOwn, train } from './examples.ts'
import { readGrammars } from './grammar.ts'
import { readPrompts } from './prompts.ts'
import { writePacked } from './write-packed.ts'
import { readWritten } from './written.ts'

/** Prompts of all kinds, from which Auto learns to distinguish an operator's own lanes. */
const BACKGROUND = new URL('../../packages/auto/src/background.json', import.meta.url)
const BACKGROUND_PROMPTS = 400
const BACKGROUND_CHARS = 200

const { collected, others } = readArguments(process.argv.slice(2))
const given = others.flatMap((path) => readPrompts(path))
const startedAtMs = performance.now()
const prompts = [...given, ...readOwn(), ...collected]
const network = train(prompts)
const bytes = writePacked(MODEL_NAME, packModel(network))
writeFileSync(BACKGROUND, `${JSON.stringify(everyday(), null, 1)}\n`)
const right = prompts.filter((prompt) => isRight(prompt, chosenLane(network, prompt))).length
const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0)
console.log(`${prompts.length} prompts, ${seconds} s, ${(bytes / 1024).toFixed(0)} KiB`)
console.log(`right on the prompts trained on: ${(right / prompts.length).toFixed(3)} (flatters; see evaluate.ts)`)

/** Short first turns out of the prompts that we wrote, evenly. */
function everyday(): string[] {
  const texts = [...readWritten(), ...readGrammars()].flatMap(({ messages }) => {
    const [{ content } = { content: '' }, ...later] = messages
    return later.length === 0 && typeof content === 'string' && content.length <= BACKGROUND_CHARS ? [content] : []
  })
  const stride = Math.floor(texts.length / BACKGROUND_PROMPTS)
  return texts.filter((_, index) => index % stride === 0).slice(0, BACKGROUND_PROMPTS)
}
