/**
 * How often the chooser is right on sources that it never trained on: `npm run auto:evaluate -- <train.jsonl>` leaves
 * out each source in turn, trains on the others and judges the one left out. With a second file, the shipped model is
 * judged on that one instead: `npm run auto:evaluate -- <train.jsonl> <other.jsonl>`. With `--own` in place of the first
 * file, a model of this repository's prompts alone is judged. A choice is right if it is the label or one of `also`.
 */

import modelFile from '../src/model.json' with { type: 'json' }
import { type Lane, LANES } from '../src/lanes.ts'
import { type Network, unpackModel } from '../src/model.ts'
import { chosenLane, isRight, train } from './examples.ts'
import { leaveOut, originsOf, type Prompt, readPrompts } from './prompts.ts'

interface Verdict {
  prompt: Prompt
  lane: Lane
}

const [path, other] = process.argv.slice(2)
if (!path) throw new Error('usage: npm run auto:evaluate -- <train.jsonl> [<other.jsonl>]')

const bySource = other
  ? judge(readPrompts(other), path === '--own' ? train([]) : unpackModel(modelFile))
  : judgeLeftOut(readPrompts(path))
report(bySource)

function judge(prompts: Prompt[], networks: readonly Network[]): Map<string, Verdict[]> {
  return Map.groupBy(
    prompts.map((prompt) => ({ prompt, lane: chosenLane(networks, prompt) })),
    ({ prompt }) => prompt.source,
  )
}

function judgeLeftOut(prompts: Prompt[]): Map<string, Verdict[]> {
  return new Map(
    originsOf(prompts).map((source) => {
      const { training, judged } = leaveOut(prompts, source)
      const networks = train(training)
      return [source, judged.map((prompt) => ({ prompt, lane: chosenLane(networks, prompt) }))]
    }),
  )
}

function report(verdicts: Map<string, Verdict[]>): void {
  console.log('| source | prompts | right | usual mistakes |\n| --- | --- | --- | --- |')
  for (const [source, list] of verdicts)
    console.log(`| ${source} | ${list.length} | ${share(list)} | ${usualMistakes(list)} |`)
  const all = [...verdicts.values()].flat()
  const mean = [...verdicts.values()].reduce((sum, list) => sum + Number(share(list)), 0) / verdicts.size
  console.log(`\nall prompts: ${share(all)} of ${all.length}; mean of sources: ${mean.toFixed(3)}`)
  const strict = all.filter(({ prompt, lane }) => lane === prompt.lane).length / all.length
  console.log(`the label itself: ${strict.toFixed(3)}`)
  const later = all.filter(({ prompt }) => prompt.messages.length > 1)
  if (later.length > 0) console.log(`later turns: ${share(later)} of ${later.length}`)
  console.log(`\n| label | ${LANES.join(' | ')} | right |\n| --- | ${LANES.map(() => '---').join(' | ')} | --- |`)
  for (const label of LANES) {
    const list = all.filter(({ prompt }) => prompt.lane === label)
    const counts = LANES.map((lane) => list.filter((verdict) => creditedLane(verdict) === lane).length)
    console.log(`| ${label} | ${counts.join(' | ')} | ${share(list)} |`)
  }
}

/** A choice that is acceptable counts as the label's own. */
function creditedLane({ prompt, lane }: Verdict): Lane {
  return isRight(prompt, lane) ? prompt.lane : lane
}

function share(list: Verdict[]): string {
  return (list.filter(({ prompt, lane }) => isRight(prompt, lane)).length / list.length).toFixed(3)
}

function usualMistakes(list: Verdict[]): string {
  const wrong = Map.groupBy(
    list.filter(({ prompt, lane }) => !isRight(prompt, lane)),
    ({ prompt, lane }) => `${prompt.lane} as ${lane}`,
  )
  const most = [...wrong].toSorted(([, one], [, two]) => two.length - one.length).slice(0, 2)
  return most.map(([mistake, { length }]) => `${mistake} ${length}`).join(', ')
}
