/**
 * Turns prompts into examples to learn from, and examples into networks. An example has features, the acceptable lanes
 * as a target, and a weight that keeps any one source from ruling.
 */

import { type Features, withContext, readFeatures } from '../../packages/auto/src/features.ts'
import { type Lane, LANES } from '../../packages/auto/src/lanes.ts'
import type { PhraseTrie } from '../../packages/auto/src/phrase-trie.ts'
import { laneProbabilities, type Network, packModel, unpackModel } from '../../packages/auto/src/model.ts'
import { readTurns, type Turns } from '../../packages/auto/src/read-text.ts'
import { augment } from './augment.ts'
import { type Example, fit, FIT, type FitOptions, joinNetworks } from './fit.ts'
import { origins, type Prompt } from './prompts.ts'
import { readGrammars } from './grammar.ts'
import { readWritten } from './written.ts'

/** The label's share where other lanes are acceptable too. An unsure choice then takes a lane that several labels accept. */
const SHARE_OF_LANE = 0.6
/** Of 0 to 1: how little each further prompt of a source adds. A template's fillings say little more than one of them. */
const SIZE_DISCOUNT = 0.75
/** Enough for the model that only classifies the turn before. */
const FIRST_EPOCHS = 5
const SEEDS = [7, 8, 9, 10]
/** The part of a target that goes to all lanes alike, so that the fit takes no prompt as beyond doubt. */
const DOUBT = 0.06
/** Of 0 to 1: how far the lanes are made to weigh the same. */
const LANE_BALANCE = 0.5
const AUGMENT_SEED = 11

interface Read {
  last: Features
  turns: Turns
  before: Features | null
}

/** Prompts and the features of their text; the same prompts are read once, however many folds they are in. */
const known = new WeakMap<Prompt, Read>()

/** The prompts that this repository holds itself. */
export function readOwn(): Prompt[] {
  return [...readWritten(), ...readGrammars()]
}

/** The network as it will be loaded: packed to bytes and back. */
export function train(
  prompts: readonly Prompt[],
  options: Partial<FitOptions> = {},
  seeds: readonly number[] = SEEDS,
): Network {
  const augmented = augment(prompts, AUGMENT_SEED)
  const joined = joinNetworks(seeds.map((seed) => trainOne(augmented, { ...FIT, ...options, seed })))
  return unpackModel(packModel(joined))
}

export function readInContext(prompt: Prompt, network: Network, lexicon?: PhraseTrie): Features {
  return inContext(lexicon ? readWith(prompt, lexicon) : read(prompt), network)
}

export function chosenLane(network: Network, prompt: Prompt): Lane {
  const probabilities = laneProbabilities(network, readInContext(prompt, network))
  return LANES[probabilities.indexOf(Math.max(...probabilities))] ?? 'nova'
}

export function isRight(prompt: Prompt, lane: Lane): boolean {
  return lane === prompt.lane || prompt.also.includes(lane)
}

/** Twice: a first model of single turns classifies the predecessor of a later turn. */
function trainOne(prompts: readonly Prompt[], options: FitOptions): Network {
  const weigh = weights(prompts)
  const single = prompts.filter((prompt) => read(prompt).before === null)
  const first = fit(
    single.map((prompt) => example(prompt, weigh(prompt), null)),
    { ...options, epochs: FIRST_EPOCHS },
  )
  return fit(
    prompts.map((prompt) => example(prompt, weigh(prompt), first)),
    options,
  )
}

function example(prompt: Prompt, weight: number, first: Network | null): Example {
  const { lane, also } = prompt
  const accepted = Float64Array.from(LANES, (one) => (isRight(prompt, one) ? 1 : 0))
  const target = new Float64Array(LANES.length).fill(DOUBT / LANES.length)
  const add = (to: Lane, share: number): void => {
    target[LANES.indexOf(to)]! += (1 - DOUBT) * share
  }
  for (const other of also) add(other, (1 - SHARE_OF_LANE) / also.length)
  add(lane, also.length > 0 ? SHARE_OF_LANE : 1)
  return { features: inContext(read(prompt), first), target, accepted, weight }
}

function inContext({ last, turns, before }: Read, network: Network | null): Features {
  return before && network ? withContext(last, turns, laneProbabilities(network, before)) : last
}

function read(prompt: Prompt): Read {
  const done = known.get(prompt)
  if (done) return done
  const fresh = readWith(prompt)
  known.set(prompt, fresh)
  return fresh
}

function readWith(prompt: Prompt, lexicon?: PhraseTrie): Read {
  const turns = readTurns(prompt.messages)
  const { last, before, lastLength } = turns
  return {
    last: readFeatures(last, lastLength, lexicon),
    turns,
    before: before === '' ? null : readFeatures(before, before.length, lexicon),
  }
}

/** Many prompts of one source weigh little more than a few, and a lane of many prompts less than it would. */
function weights(prompts: readonly Prompt[]): (prompt: Prompt) => number {
  const sourceOf = (prompt: Prompt): string => origins(prompt)[0] ?? ''
  const sizes = sums(prompts, sourceOf, () => 1)
  const bySource = (prompt: Prompt): number => prompt.weight ?? (sizes.get(sourceOf(prompt)) ?? 1) ** -SIZE_DISCOUNT
  const lanes = sums(prompts, (prompt) => prompt.lane, bySource)
  const perLane = prompts.length / LANES.length
  return (prompt) => bySource(prompt) * (perLane / (lanes.get(prompt.lane) ?? 1)) ** LANE_BALANCE
}

function sums(
  prompts: readonly Prompt[],
  key: (prompt: Prompt) => string,
  value: (prompt: Prompt) => number,
): Map<string, number> {
  const totals = new Map<string, number>()
  for (const prompt of prompts) totals.set(key(prompt), (totals.get(key(prompt)) ?? 0) + value(prompt))
  return totals
}
