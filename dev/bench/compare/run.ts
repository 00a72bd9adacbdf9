/**
 * The comparison: every subject launched afresh in each round, in turn, so that changes on the machine meanwhile meet
 * all of them. A subject that cannot be installed or started is named with the reason.
 */

import { UsageError } from '@gateway/service/report-fatal'
import { describeEnvironment } from '../harness/machine.ts'
import { compileNative } from '../harness/native.ts'
import { readResult, writeResult } from '../harness/results.ts'
import type { Prepared, Subject } from '../subjects/subject.ts'
import { publishBackends } from '../report/publish-capacity.ts'
import { writeIntoReadme } from '../report/pages.ts'
import { comparison, type Comparison } from './launch-result.ts'
import { measureLaunch, type Step } from './measure.ts'
import { reportComparison } from './report.ts'

export interface CompareOptions {
  subjects: Subject[]
  steps: Step[]
  rounds: number
  /** The backend's; 0: any. */
  backendPort: number
  /** Nothing new is launched after this. */
  deadlineMs: number
  /** Forget the measurements of an earlier run on the same code and machine. */
  fresh: boolean
  signal: AbortSignal
  say(line: string): void
}

const PART = 'compare'

/** Measures the missing figures, and writes both the results and their table after every launch. */
export async function compare(options: CompareOptions): Promise<void> {
  const { subjects, steps, rounds, backendPort, signal, say } = options
  const programs = await compileNative()
  const result = await begin(options)
  const prepared = await prepareAll(subjects, result, signal, say)
  for (let round = 1; round <= rounds; round++) {
    for (const { name } of subjects) {
      const subject = prepared.get(name)
      if (!subject || isDone(result, name, round, steps)) continue
      if (Date.now() > options.deadlineMs) {
        return say('the time is up; the same command goes on from here')
      }
      say(`round ${round} of ${rounds}: ${name}`)
      try {
        const measured = await measureLaunch(name, round, subject, { programs, steps, backendPort, signal, say })
        result.launches = result.launches.filter((other) => other.subject !== name || other.round !== round)
        result.launches.push(measured)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof UsageError) throw error
        result.subjects[name] = { ...result.subjects[name], missing: reasonOf(error) }
        prepared.delete(name)
        say(`  ${reasonOf(error)}`)
      }
      await publish(result)
    }
  }
}

async function publish(result: Comparison): Promise<void> {
  await writeResult(PART, result)
  await writeIntoReadme(PART, reportComparison(result))
  await publishBackends()
}

/** Measurements of an earlier run on the same code and machine count. */
async function begin({ rounds, steps, fresh }: CompareOptions): Promise<Comparison> {
  const environment = describeEnvironment()
  const earlier = fresh ? undefined : await readResult(PART, comparison)
  const isSame = earlier?.environment.code === environment.code && earlier.environment.machine === environment.machine
  return isSame ? { ...earlier, rounds } : { environment, rounds, steps, subjects: {}, launches: [] }
}

async function prepareAll(subjects: Subject[], result: Comparison, signal: AbortSignal, say: (line: string) => void) {
  const prepared = new Map<string, Prepared>()
  for (const { name, prepare } of subjects) {
    say(`preparing ${name}`)
    try {
      const subject = await prepare(signal)
      prepared.set(name, subject)
      result.subjects[name] = { description: subject.description }
    } catch (error) {
      signal.throwIfAborted()
      result.subjects[name] = { missing: reasonOf(error) }
      say(`${name} cannot be measured here: ${reasonOf(error)}`)
    }
  }
  return prepared
}

const MEASURED: Record<Step, 'plain' | 'low' | 'streams'> = { plain: 'plain', latency: 'low', stream: 'streams' }

function isDone({ launches }: Comparison, name: string, round: number, steps: Step[]): boolean {
  return launches.some(
    (launch) =>
      launch.subject === name && launch.round === round && steps.every((step) => launch[MEASURED[step]] !== undefined),
  )
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.trim() : String(error)
}
