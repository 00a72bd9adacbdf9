/**
 * `npm run bench -- prefix-cache`: the worth of warm prompt caches, in a simulation. Sessions of a coding tool run on 4 to 8
 * engines with prefix caches. The table has the part of the prompts that the caches hold, and the time to the first token.
 */

import { writeResult } from '../harness/results.ts'
import { spread, table } from '../report/markdown.ts'
import { writeIntoReadme } from '../report/pages.ts'
import { CACHE_TOKENS, PREFILL_TOKENS_PER_S, routersChoice, simulate, type Outcome, type Strategy } from './engines.ts'
import { makeSessions, TURNS, type Random } from './sessions.ts'

const PART = 'prefix-cache'
const ENGINES = [4, 6, 8]
const SESSIONS_PER_ENGINE = 6
const SEEDS = [1, 2, 3]

const STRATEGIES: Strategy[] = [
  {
    name: 'the gateway, by session id',
    promptOf: ({ prompt }) => prompt,
    choose: (engines, { sessionKey }, random) => routersChoice(engines, sessionKey, random),
  },
  {
    name: 'the gateway, without a session id',
    promptOf: ({ prompt }) => prompt,
    choose: (engines, { conversationKey }, random) => routersChoice(engines, conversationKey, random),
  },
  {
    name: 'least outstanding requests, block left out',
    promptOf: ({ prompt }) => prompt,
    choose: (engines, _, random) => routersChoice(engines, undefined, random),
  },
  {
    name: 'least outstanding requests, block kept',
    promptOf: ({ promptWithBlock }) => promptWithBlock,
    choose: (engines, _, random) => routersChoice(engines, undefined, random),
  },
  {
    // A digest of a beginning that changes is another key for each turn.
    name: 'a digest of the whole beginning, block kept',
    promptOf: ({ promptWithBlock }) => promptWithBlock,
    choose: (engines, _, random) => routersChoice(engines, String(random()), random),
  },
  {
    name: 'ideal: one cache without a limit, the shortest queue',
    sharesCache: true,
    promptOf: ({ prompt }) => prompt,
    choose: (engines) =>
      engines.reduce((best, engine) => (engine.prefillsUntilMs < best.prefillsUntilMs ? engine : best)),
  },
]

interface Run {
  engines: number
  strategy: string
  seed: number
  hitRate: number
  firstTokenMs: { p50: number; p95: number }
}

export async function prefixCache({ signal, say }: { signal: AbortSignal; say(line: string): void }): Promise<void> {
  const runs: Run[] = []
  for (const seed of SEEDS) {
    say(`seed ${seed}: writing ${Math.max(...ENGINES) * SESSIONS_PER_ENGINE} sessions of ${TURNS} turns`)
    const sessions = makeSessions(Math.max(...ENGINES) * SESSIONS_PER_ENGINE, seeded(seed))
    for (const engines of ENGINES) {
      for (const strategy of STRATEGIES) {
        signal.throwIfAborted()
        const some = sessions.slice(0, engines * SESSIONS_PER_ENGINE)
        const outcome = simulate(some, engines, strategy, seeded(seed))
        runs.push({ engines, strategy: strategy.name, seed, ...figuresOf(outcome) })
      }
    }
  }
  await writeResult(PART, { runs })
  await writeIntoReadme(PART, report(runs))
  process.stdout.write(`${report(runs)}\n`)
}

function figuresOf({ promptTokens, cachedTokens, firstTokenMs }: Outcome): Pick<Run, 'hitRate' | 'firstTokenMs'> {
  const sorted = firstTokenMs.toSorted((a, b) => a - b)
  return {
    hitRate: cachedTokens / promptTokens,
    firstTokenMs: { p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) },
  }
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1]!
}

function report(runs: Run[]): string {
  const rows = ENGINES.flatMap((engines) =>
    STRATEGIES.map(({ name }) => {
      const of = runs.filter((run) => run.engines === engines && run.strategy === name)
      return [
        name,
        String(engines),
        spread(of.map(({ hitRate }) => 100 * hitRate)),
        spread(of.map(({ firstTokenMs }) => firstTokenMs.p50)),
        spread(of.map(({ firstTokenMs }) => firstTokenMs.p95)),
      ]
    }),
  )
  const setting =
    `Simulated with seeds ${SEEDS.join(', ')}: ${SESSIONS_PER_ENGINE} sessions an engine, ${TURNS} turns each; an engine ` +
    `caches ${CACHE_TOKENS.toLocaleString('en')} tokens and prefills ${PREFILL_TOKENS_PER_S.toLocaleString('en')} a second. ` +
    'The keys, the choice and the prompts are those of edge and router.'
  const head = ['Choice', 'engines', 'cached % of prompt tokens', 'first token p50, ms', 'first token p95, ms']
  return `${setting}\n\n${table(head, rows)}`
}

/** Mulberry32: the same numbers for the same seed. */
function seeded(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
