/**
 * A configuration that cannot be used: every problem at once, each with the line to change.
 */

export interface LocatedProblem {
  /** `pools[0].targets[1].backend`; empty for the file as a whole. */
  field: string
  /** The fault and the expectation. */
  message: string
  line?: number
  column?: number
}

export class ConfigError extends Error {
  /** The file, or the name of another source. */
  readonly source: string
  readonly problems: LocatedProblem[]

  constructor(source: string, problems: LocatedProblem[], options?: { cause?: unknown }) {
    super(describe(source, problems), options)
    this.name = 'ConfigError'
    this.source = source
    this.problems = problems
  }
}

function describe(source: string, problems: LocatedProblem[]): string {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  const lines = problems.map(({ field, message, line, column }) => {
    const position = line === undefined ? source : `${source}:${line}:${column ?? 1}`
    return `  ${position}  ${field ? `${field}: ` : ''}${message}`
  })
  return [`The configuration in ${source} cannot be used (${count}):`, ...lines].join('\n')
}

/** `['pools', 0, 'id']` as `pools[0].id`. */
export function writePath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? String(part) : `.${String(part)}`))
    .join('')
}
