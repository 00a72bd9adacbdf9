/**
 * The steps of a proof: each prints its time and its finding when it ends; all of them make the table of the run.
 */

export interface Step {
  title: string
  seconds: number
  finding: string
}

const done: Step[] = []

/** `work` answers its finding in a few words, or throws. */
export async function step(title: string, work: () => Promise<string>): Promise<void> {
  const startedAt = performance.now()
  const secondsUntilNow = (): number => (performance.now() - startedAt) / 1000
  process.stderr.write(`… ${title}\n`)
  try {
    const finding = await work()
    done.push({ title, seconds: secondsUntilNow(), finding })
  } catch (error) {
    done.push({ title, seconds: secondsUntilNow(), finding: 'FAILED' })
    throw error
  }
  const last = done.at(-1)!
  process.stderr.write(`✓ ${title}: ${last.finding} (${last.seconds.toFixed(1)} s)\n`)
}

export function tableOfSteps(): string {
  const rows = done.map(({ title, seconds, finding }) => `| ${title} | ${seconds.toFixed(1)} | ${finding} |`)
  return ['| Step | Time, s | Finding |', '| --- | ---: | --- |', ...rows].join('\n')
}
