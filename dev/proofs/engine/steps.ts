/**
 * The steps of a proof: each prints its time and its finding when it ends; all of them make the table of the run.
 */

export interface Step {
  title: string
  seconds: number
  finding: string
}

const done: Step[] = []

/** Returns the result of `work`, or throws its error. Its finding is a text, or `describe` has words for it. */
export async function step<T>(
  title: string,
  work: () => Promise<T>,
  describe = (result: T): string => (typeof result === 'string' ? result : ''),
): Promise<T> {
  const startedAt = performance.now()
  const end = (finding: string): Step => {
    const row = { title, seconds: (performance.now() - startedAt) / 1000, finding }
    done.push(row)
    return row
  }
  process.stderr.write(`… ${title}\n`)
  try {
    const result = await work()
    const { seconds, finding } = end(describe(result))
    process.stderr.write(`✓ ${title}: ${finding} (${seconds.toFixed(1)} s)\n`)
    return result
  } catch (error) {
    const { seconds } = end('FAILED')
    process.stderr.write(`✗ ${title}: ${String(error)} (${seconds.toFixed(1)} s)\n`)
    throw error
  }
}

export function tableOfSteps(): string {
  const rows = done.map(({ title, seconds, finding }) => `| ${title} | ${seconds.toFixed(1)} | ${finding} |`)
  return ['| Step | Time, s | Finding |', '| --- | ---: | --- |', ...rows].join('\n')
}
