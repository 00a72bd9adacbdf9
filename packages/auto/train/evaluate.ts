/**
 * How often the chooser is right on sources that it never trained on: `npm run auto:evaluate -- <labelled.jsonl>`.
 * Training reads this repository's prompts alone, so every source of the file is unseen. What a fit may vary (`SETTINGS`)
 * is chosen for each source by all the other ones, so no source has a say in its own figure.
 */

import modelFile from '../src/model.json' with { type: 'json' }
import { LANE_IDS, type Lane, LANES } from '../src/lanes.ts'
import { laneShares, type Network, unpackModel } from '../src/model.ts'
import { findEchoes } from './echoes.ts'
import { isRight, readInContext, train } from './examples.ts'
import type { FitOptions } from './fit.ts'
import { origins, type Prompt, readPrompts } from './prompts.ts'

const SETTINGS: Partial<FitOptions>[] = [
  {},
  { dropAllWords: 0.3, dropAllPieces: 0.3 },
  { dropDense: 0.2 },
  { hidden: 40 },
]
/** One network for each setting; the shipped model joins five. */
const SEEDS = [7]
const CONFIDENCES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0]
/** What a lane costs per token, by the catalogue's multipliers. */
const MULTIPLIERS: Record<Lane, number> = { spark: 1, bolt: 1.5, nova: 3.75, atlas: 6.7, research: 2.3, code: 1 }

interface Verdict {
  prompt: Prompt
  source: string
  lane: Lane
  confidence: number
}

const paths = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const isQuick = process.argv.includes('--quick')
if (paths.length === 0) throw new Error('usage: npm run auto:evaluate -- [--quick] <labelled.jsonl>…')
const prompts = paths.flatMap((path) => readPrompts(path))
const shipped = judge(unpackModel(modelFile))
if (!isQuick) reportNested(SETTINGS.map((options) => judge(train([], options, SEEDS))))
console.log(`\n## The shipped model, ${shipped.length} prompts\n`)
reportSources(shipped)
reportGroups('language', shipped, ({ prompt }) => prompt.lang)
reportGroups('turn', shipped, ({ prompt }) => (prompt.messages.length > 1 ? 'later' : 'first'))
reportGroups('confidence', shipped, ({ confidence }) => `${CONFIDENCES.find((least) => confidence >= least)} and above`)
reportConfusion(shipped)

function judge(network: Network): Verdict[] {
  return prompts.map((prompt) => {
    const shares = laneShares(network, readInContext(prompt, network))
    const confidence = Math.max(...shares)
    const [source = '', other] = origins(prompt)
    return {
      prompt,
      source: other ? 'composed of two sources' : source,
      lane: LANES[shares.indexOf(confidence)] ?? 'nova',
      confidence,
    }
  })
}

/** Each source is judged by the setting that is best on all others. */
function reportNested(bySetting: readonly Verdict[][]): void {
  const sources = [...new Set(shipped.map(({ source }) => source))].toSorted()
  const nested = sources.map((source) => {
    const others = bySetting.map((verdicts) => share(verdicts.filter((verdict) => verdict.source !== source)))
    const best = bySetting[others.indexOf(Math.max(...others))] ?? []
    return best.filter((verdict) => verdict.source === source)
  })
  const shares = nested.filter((list) => list.length >= 20).map(share)
  const mean = shares.reduce((sum, one) => sum + one, 0) / shares.length
  const spread = Math.sqrt(shares.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (shares.length - 1))
  console.log(`settings by themselves: ${bySetting.map((verdicts) => share(verdicts).toFixed(3)).join(', ')}`)
  console.log(`nested, all prompts: ${share(nested.flat()).toFixed(3)}`)
  console.log(`nested, mean of ${shares.length} sources: ${mean.toFixed(3)}, standard deviation ${spread.toFixed(3)}`)
}

function reportSources(verdicts: Verdict[]): void {
  const strict = verdicts.filter(({ prompt, lane }) => lane === prompt.lane).length / verdicts.length
  const echoes = findEchoes(prompts)
  const fresh = verdicts.filter(({ prompt }) => !echoes.has(prompt))
  console.log(`right: ${share(verdicts).toFixed(3)}; the label itself: ${strict.toFixed(3)}`)
  console.log(`without echoes of our prompts: ${share(fresh).toFixed(3)} of ${fresh.length}\n`)
  console.log('| Source | Prompts | Right | Usual mistakes |\n| --- | --- | --- | --- |')
  for (const [source, list] of byName(verdicts, (verdict) => verdict.source))
    console.log(`| ${source} | ${list.length} | ${share(list).toFixed(3)} | ${usualMistakes(list)} |`)
}

function reportGroups(name: string, verdicts: Verdict[], groupOf: (verdict: Verdict) => string): void {
  console.log(`\n| By ${name} | Prompts | Right |\n| --- | --- | --- |`)
  for (const [group, list] of byName(verdicts, groupOf))
    console.log(`| ${group} | ${list.length} | ${share(list).toFixed(3)} |`)
}

function byName(verdicts: Verdict[], nameOf: (verdict: Verdict) => string): [string, Verdict[]][] {
  return [...Map.groupBy(verdicts, nameOf)].toSorted(([one], [other]) => (one < other ? -1 : 1))
}

/** Rows are labels, columns choices; a choice that is acceptable counts as the label's own. */
function reportConfusion(verdicts: Verdict[]): void {
  console.log(
    `\n| Label | ${LANES.join(' | ')} | Right | Price |\n| --- | ${LANES.map(() => '---').join(' | ')} | --- | --- |`,
  )
  for (const label of LANES) {
    const list = verdicts.filter(({ prompt }) => prompt.lane === label)
    const credited = list.map(({ prompt, lane }) => (isRight(prompt, lane) ? label : lane))
    const counts = LANES.map((lane) => credited.filter((one) => one === lane).length)
    const paid = list.reduce((sum, { lane }) => sum + MULTIPLIERS[lane], 0) / (list.length * MULTIPLIERS[label])
    console.log(
      `| ${label} (${LANE_IDS[label]}) | ${counts.join(' | ')} | ${share(list).toFixed(3)} | ${paid.toFixed(2)} |`,
    )
  }
}

function share(list: readonly Verdict[]): number {
  return list.filter(({ prompt, lane }) => isRight(prompt, lane)).length / list.length
}

function usualMistakes(list: Verdict[]): string {
  const wrong = Map.groupBy(
    list.filter(({ prompt, lane }) => !isRight(prompt, lane)),
    ({ prompt, lane }) => `${prompt.lane} as ${lane}`,
  )
  const most = [...wrong].toSorted(([, one], [, two]) => two.length - one.length).slice(0, 2)
  return most.map(([mistake, { length }]) => `${mistake} ${length}`).join(', ')
}
