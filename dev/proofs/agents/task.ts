/**
 * The long task of every agent: steps that each append a line to a file of their own. The files say how far the work is,
 * so a step that ran twice shows.
 */

import { mkdir, readFile, stat } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent, Step } from './agent.ts'
import type { ModelRequest, Reply } from './wire/wire.ts'

export const STEPS = 8
/** After these the conversation is too large for the agent. */
const FILLING = new Set([3, 6])
/** While this one is generated, its router dies. */
const HELD = 5
export const COMPACTIONS = FILLING.size

export const TASK = 'Work through the plan step by step, with your tools. Say so when all steps are done.'
export const DONE = 'All steps of the plan are done.'
const SUMMARY = 'So far the steps of the plan went well. Go on with the next step.'
/** Far above the limit at which each agent is set to compact, and below its window. */
const FULL_TOKENS = 90_000

export function stepOf(number: number): Step {
  return { number, command: `printf '${number}\\n' >> steps/${number}.txt && echo ${markOf(number)}` }
}

/** The shell prints it: nobody else in the conversation writes it. */
function markOf(number: number): string {
  return `mark-$((${number} * 7919))`
}
function printedBy(number: number): string {
  return `mark-${number * 7919}`
}

export async function prepare(repository: string): Promise<void> {
  await mkdir(join(repository, 'steps'))
}

export interface Progress {
  /** Steps whose output a later request held. */
  read: Set<number>
  summaries: number
}

/** The model of the long task. */
export function playTask(
  repository: string,
  progress: Progress,
  agent: Pick<Agent, 'callFor' | 'isSummary' | 'isSide' | 'endsTurns'>,
): (request: ModelRequest) => Reply {
  return (request) => {
    const said = request.texts.join('\n')
    for (let number = 1; number <= STEPS; number++) if (said.includes(printedBy(number))) progress.read.add(number)
    if (request.isCompaction || agent.isSummary(request)) {
      progress.summaries++
      return { text: SUMMARY, promptTokens: 2_003 + progress.summaries, completionTokens: 41 }
    }
    if (agent.isSide(request)) return { text: 'A plan', promptTokens: 57, completionTokens: 3 }
    const next = nextStep(repository)
    const isLastRead = !agent.endsTurns || !request.texts.at(-1)?.includes(printedBy(STEPS))
    if (next > STEPS && isLastRead) return { text: DONE, promptTokens: 1_409, completionTokens: 11 }
    const { callFor } = agent
    if (typeof callFor !== 'function') {
      const all = Array.from({ length: STEPS }, (_, index) => stepOf(index + 1))
      return { text: `${callFor.writeAll(all)}\n${DONE}`, hold: true, promptTokens: 1_017, completionTokens: 210 }
    }
    const isFilling = FILLING.has(agent.endsTurns ? next - 1 : next)
    const promptTokens = isFilling ? FULL_TOKENS + next : 1_000 + 17 * next
    if (agent.endsTurns && request.texts.at(-1)?.includes(printedBy(next - 1)))
      return { text: `Step ${next - 1} is done.`, promptTokens, completionTokens: 5 }
    return {
      text: `Step ${next}.`,
      call: callFor(stepOf(next)),
      hold: next === HELD,
      promptTokens,
      completionTokens: 20 + next,
    }
  }
}

function nextStep(repository: string): number {
  let number = 1
  while (number <= STEPS && existsSync(fileOf(repository, number))) number++
  return number
}

const fileOf = (repository: string, number: number) => join(repository, 'steps', `${number}.txt`)

/** True if each step ran exactly once. */
export async function isDone(repository: string): Promise<boolean> {
  for (let number = 1; number <= STEPS; number++) {
    const path = fileOf(repository, number)
    const isThere = await stat(path).then(
      () => true,
      () => false,
    )
    if (!isThere || (await readFile(path, 'utf8')) !== `${number}\n`) return false
  }
  return true
}

/** The model of the run that is cut: a text without an end. */
export function playEndless(isSide: (request: ModelRequest) => boolean): (request: ModelRequest) => Reply {
  return (request) =>
    isSide(request)
      ? { text: 'A plan', promptTokens: 57, completionTokens: 3 }
      : { text: '', endless: true, promptTokens: 1_000, completionTokens: 2_000 }
}
