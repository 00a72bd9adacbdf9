/**
 * Prints how often the classifier is right on sources that it never trained on.
 *
 * It judges the prompts of `--prompts <folder>` in parts: networks that learnt from all other sources judge each part.
 * No network learns from a labelled file that is named, so every source of it is unseen. Its nested estimate gives no
 * source a say in its own figure. All others choose the setting of the fit, and the lexicon lacks the phrases that it
 * alone attests. With `--quick` the shipped network judges the file, and nothing is trained.
 */

import { createHash } from 'node:crypto'
import { LANE_IDS, type Lane, LANES } from '../../packages/auto/src/lanes.ts'
import { laneProbabilities, type Network, readModel } from '../../packages/auto/src/model.ts'
import type { PhraseTrie } from '../../packages/auto/src/phrase-trie.ts'
import { findEchoes } from './echoes.ts'
import { readArguments, repositoryOf } from './collections.ts'
import { isRight, readInContext, readOwn, train } from './examples.ts'
import type { FitOptions } from './fit.ts'
import { lexiconWithout } from './fold-lexicon.ts'
import { origins, type Prompt, readPrompts } from './prompts.ts'

const SETTINGS: Partial<FitOptions>[] = [
  {},
  { dropAll: { words: 0.3, pieces: 0.3, senses: 0.3 } },
  { dropEmbeddings: 0.6 },
]
/** One network for each setting of the nested estimate; the shipped model joins four, and so do the judges of collected prompts. */
const NESTED_SEEDS = [7]
/** Parts of the collected sources. */
const PARTS = 3
/** Smaller groups of prompts say too little by themselves. */
const LEAST_OF_A_GROUP = 20
const CONFIDENCES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0]
/** Price of a lane per token, by the catalogue's multipliers. */
const MULTIPLIERS: Record<Lane, number> = { spark: 1, bolt: 1.5, nova: 3.75, atlas: 6.7, research: 2.3, code: 1 }

/** Which lanes cannot do a lane's work; any other wrong choice only costs more or takes longer. */
const TOO_WEAK: Record<Lane, readonly Lane[]> = {
  spark: [],
  bolt: ['spark'],
  nova: ['spark', 'bolt'],
  atlas: ['spark', 'bolt', 'nova'],
  research: ['spark', 'bolt', 'nova', 'atlas', 'code'],
  code: ['spark', 'bolt'],
}

/** Sources of one kind; each other source is a family of its own. */
const FAMILIES: Record<string, string> = {
  'FloatAI/humaneval-xl': 'programs',
  'google-research/mbpp': 'programs',
  'TellinaTool/nl2bash': 'programs',
  'zorazrw/odex': 'programs',
  'TIGER-AI-Lab/TheoremQA': 'mathematics',
  'openai/grade-school-math': 'mathematics',
  'ruixiangcui/AGIEval:gaokao-math': 'mathematics',
  'lm-sys/RouteLLM:mmlu': 'exams',
  'suzgunmirac/BIG-Bench-Hard': 'exams',
  'clinc/oos-eval': 'talk',
  'gunthercox/chatterbot-corpus': 'talk',
  'google-research-datasets/dstc8-schema-guided-dialogue': 'talk',
  'AkariAsai/ScholarQABench (adapted)': 'reports',
  'Su-Sea/ydc-deep-research-evals:DeepConsult': 'reports',
  'LAION-AI/Open-Assistant': 'mixed',
  'yizhongw/self-instruct:seed': 'mixed',
  'lmarena/arena-hard-auto:v0.1': 'mixed',
  'lm-sys/FastChat:vicuna_bench': 'mixed',
  'lightblue-tech/M-IFEval': 'mixed',
  'yuzu-ai/japanese-llm-ranking:rakuda': 'mixed',
  written: 'written by the file’s author',
  'written-templates': 'written by the file’s author',
}

interface Verdict {
  prompt: Prompt
  source: string
  lane: Lane
  confidence: number
}

const { collected, others } = readArguments(process.argv.slice(2))
const paths = others.filter((argument) => !argument.startsWith('--'))
const isQuick = others.includes('--quick')
if (paths.length === 0 && (isQuick || collected.length === 0))
  throw new Error('usage: node training/auto/evaluate.ts [--quick] [--prompts <folder>] [<labelled.jsonl>…]')
const learnt = [...readOwn(), ...collected]
if (!isQuick && collected.length > 0) reportCollected()
const prompts = paths.flatMap((path) => readPrompts(path))
const echoes = findEchoes(prompts, learnt)
if (prompts.length > 0) reportFiles(readModel())

/** Parts by repository, so that no source, nor its kind of prompt, is both learnt from and judged. */
function reportCollected(): void {
  const parts = Map.groupBy(collected, ({ source }) => partOf(repositoryOf(source)))
  const verdicts = [...parts].flatMap(([part, list]) => {
    const others = learnt.filter(({ source, after = source }) => partOf(repositoryOf(after)) !== part || isOurs(after))
    const network = train(others)
    return list.map((prompt) => judge(prompt, network))
  })
  const shares = [...Map.groupBy(verdicts, ({ prompt }) => repositoryOf(prompt.source)).values()]
    .filter((list) => list.length >= LEAST_OF_A_GROUP)
    .map(share)
  console.log(`## ${verdicts.length} collected prompts, judged by networks that know none of their sources\n`)
  console.log(`right: ${share(verdicts).toFixed(3)}`)
  console.log(spreadOf(shares))
  reportAll(verdicts)
}

function reportFiles(shippedNetwork: Network): void {
  const networks = isQuick ? [shippedNetwork] : SETTINGS.map((options) => train(learnt, options, NESTED_SEEDS))
  const bySource = Map.groupBy(prompts, sourceOf)
  const byFamily = Map.groupBy(prompts, (prompt) => FAMILIES[sourceOf(prompt)] ?? sourceOf(prompt))
  reportNested('source', bySource, networks)
  reportNested('family of sources', byFamily, networks)
  const shipped = prompts.map((prompt) => judge(prompt, shippedNetwork))
  console.log(`\n## The shipped model, ${shipped.length} prompts\n`)
  reportSources(shipped)
  reportAll(shipped)
}

function isOurs(source: string): boolean {
  return source.startsWith('gateway/')
}

/** The part of the collected sources that holds a repository: even parts, the same at each run. */
function partOf(repository: string): number {
  return createHash('sha256').update(repository).digest().readUInt16BE(0) % PARTS
}

function sourceOf(prompt: Prompt): string {
  const [source = '', other] = origins(prompt)
  return other ? 'composed of two sources' : source
}

function judge(prompt: Prompt, by: Network, lexicon?: PhraseTrie): Verdict {
  const shares = laneProbabilities(by, readInContext(prompt, by, lexicon))
  const confidence = Math.max(...shares)
  return { prompt, source: sourceOf(prompt), lane: LANES[shares.indexOf(confidence)] ?? 'nova', confidence }
}

/**
 * Each group is judged by the setting that is best on all others, with the lexicon as it would be without the group.
 * Only its prompts that do not echo ours count.
 */
function reportNested(name: string, groups: ReadonlyMap<string, Prompt[]>, networks: readonly Network[]): void {
  const right = networks.map((one) => new Set(prompts.filter((prompt) => isRight(prompt, judge(prompt, one).lane))))
  const nested = [...groups].map(([group, list]) => {
    const others = right.map((set) => set.difference(new Set(list)).size)
    const best = networks[others.indexOf(Math.max(...others))] ?? networks[0]!
    const lexicon = lexiconWithout(group, groups, learnt)
    return list.filter((prompt) => !echoes.has(prompt)).map((prompt) => judge(prompt, best, lexicon))
  })
  const shares = nested.filter((list) => list.length >= LEAST_OF_A_GROUP).map(share)
  console.log(`## Nested by ${name}\n`)
  console.log(`settings by themselves: ${right.map(({ size }) => (size / prompts.length).toFixed(3)).join(', ')}`)
  console.log(`all ${nested.flat().length} prompts: ${share(nested.flat()).toFixed(3)}`)
  console.log(spreadOf(shares))
  reportAll(nested.flat())
}

function spreadOf(shares: readonly number[]): string {
  const mean = shares.reduce((sum, one) => sum + one, 0) / shares.length
  const spread = Math.sqrt(shares.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (shares.length - 1))
  return `mean of ${shares.length} groups: ${mean.toFixed(3)}, standard deviation ${spread.toFixed(3)}`
}

function reportAll(verdicts: Verdict[]): void {
  reportGroups('language', verdicts, ({ prompt }) => prompt.lang)
  reportGroups('turn', verdicts, ({ prompt }) => (prompt.messages.length > 1 ? 'later' : 'first'))
  reportGroups(
    'confidence',
    verdicts,
    ({ confidence }) => `${CONFIDENCES.find((least) => confidence >= least)} and above`,
  )
  reportConfusion(verdicts)
}

function reportSources(verdicts: Verdict[]): void {
  const strict = verdicts.filter(({ prompt, lane }) => lane === prompt.lane).length / verdicts.length
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
  const columns = ['Label', ...LANES, 'Right', 'Too weak', 'Price']
  console.log(`\n| ${columns.join(' | ')} |\n| ${columns.map(() => '---').join(' | ')} |`)
  for (const label of LANES) {
    const list = verdicts.filter(({ prompt }) => prompt.lane === label)
    const credited = list.map(({ prompt, lane }) => (isRight(prompt, lane) ? label : lane))
    const counts = LANES.map((lane) => credited.filter((one) => one === lane).length)
    const weak = credited.filter((lane) => TOO_WEAK[label].includes(lane)).length / list.length
    const paid = list.reduce((sum, { lane }) => sum + MULTIPLIERS[lane], 0) / (list.length * MULTIPLIERS[label])
    const figures = [share(list).toFixed(3), weak.toFixed(3), paid.toFixed(2)]
    console.log(`| ${label} (${LANE_IDS[label]}) | ${[...counts, ...figures].join(' | ')} |`)
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
