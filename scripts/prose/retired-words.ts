/**
 * Words that this code once used in a sense of its own. A reader knows the field's words, so those stand here instead, and
 * `npm run check` keeps the former ones out of names, comments, titles of tests and help.
 */

import type { Block } from './read-markdown.ts'
import { type Finding, wordsOf } from './judge-sentences.ts'

/** In prose and in names. */
const EVERYWHERE: Record<string, string> = {
  answer: 'response, respond, reply, return',
  ask: 'request, call, query',
  tell: 'report, notify, publish, state',
  rpc: 'rpc, procedure',
  port: 'interface, port',
  house: 'layout, project',
  room: 'module, memory, capacity',
  slot: 'slot',
  memoryBudget: 'memory budget',
  failoverState: 'failover state',
  pendingFailure: 'pending failure',
  wish: 'option, request',
  learnedRejection: 'learned rejection',
  teachable: 'learnable',
  timeoutPolicy: 'timeout',
  backendRegistry: 'backends, backend registry',
  responseWindow: 'window, stream',
  attribution: 'failure, attribute',
  injection: 'inject a fault',
  excuse: 'allowance',
  lexicalFeature: 'feature',
  exam: 'evaluation set',
  shedder: 'load shedder, subscription',
  retry: 'dispatch again, retry',
  anew: 'again',
  tidy: 'clean up',
}

/** In names alone: in prose they are plain English. */
const IN_NAMES: Record<string, string> = {
  quotaStatus: 'quota status',
  halfOpenAttempt: 'half-open',
  whole: 'complete',
  adapter: 'client adapter',
  sendWindow: 'send window (`inFlight` may stay)',
  costPreference: 'cost preference',
  heard: 'seen, received',
  news: 'event',
}

const FORMS: Record<string, string> = {
  ...{ answers: 'answer', answered: 'answer', responding: 'answer', outstanding: 'answer' },
  ...{ asks: 'ask', asked: 'ask', asking: 'ask', unasked: 'ask', requester: 'ask' },
  ...{ reports: 'tell', reported: 'tell', reporting: 'tell', unreported: 'tell' },
  ...{
    procedures: 'talk',
    talker: 'talk',
    faces: 'face',
    rooms: 'room',
    seats: 'seat',
    memoryBudgets: 'pot',
    courses: 'course',
  },
  ...{
    pendingFailures: 'suspect',
    suspected: 'suspect',
    options: 'wish',
    lessons: 'lesson',
    patient: 'patience',
    fleets: 'fleet',
  },
  ...{
    blames: 'blame',
    attributed: 'blame',
    strikes: 'strike',
    injected: 'strike',
    excuses: 'excuse',
    allowed: 'excuse',
  },
  ...{ lexicalFeatures: 'cue', exams: 'exam', tidies: 'tidy', trials: 'trial', fronts: 'front' },
}

const formOf = (word: string): string => (Object.hasOwn(FORMS, word) ? FORMS[word]! : word)

export function findRetiredInProse(block: Block): Finding[] {
  return wordsOf(block.text).flatMap((raw) => {
    const word = formOf(raw.toLowerCase().replaceAll(/^[^a-z]+|(?:['’]s)?[^a-z]*$/g, ''))
    if (!Object.hasOwn(EVERYWHERE, word)) return []
    return [{ line: block.line, problem: `"${raw}" is retired: ${EVERYWHERE[word]}`, sentence: block.text }]
  })
}

/** The words of a name, as its capitals and underscores part them. */
export function findRetiredInName({ line, word: name }: { line: number; word: string }): Finding[] {
  const words = name
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[\s_$]+/)
  return words.flatMap((raw, at) => {
    const word = formOf(raw)
    if (word === 'flight' && words[at - 1] === 'in') return []
    const instead = { ...EVERYWHERE, ...IN_NAMES }
    if (!Object.hasOwn(instead, word)) return []
    return [{ line, problem: `"${raw}" in a name is retired: ${instead[word]}`, sentence: name }]
  })
}
