/**
 * The imports of a source file, as the formatter writes them: statements at the beginning of a line, and `import(…)`.
 */

export interface Import {
  specifier: string
  /** Erased at run time: `import type`, `export type`. */
  typeOnly: boolean
}

const NAMES = String.raw`(?:[\w$]+|\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})(?:\s*,\s*(?:\*\s+as\s+[\w$]+|\{[^}]*\}))?`
const STATEMENT = new RegExp(String.raw`^(?:import|export)\s+(type\s+)?(?:(${NAMES})\s*from\s*)?(['"])([^'"]+)\3`, 'gm')
const DYNAMIC = /\bimport\(\s*(['"])([^'"]+)\1\s*\)/g
const COMMENT_LINE = /^\s*(?:\/\/|\/?\*).*$/gm

export function readImports(source: string): Import[] {
  const statements = [...source.matchAll(STATEMENT)].map((match) => ({
    specifier: match[4]!,
    typeOnly: match[1] !== undefined || importsTypesAlone(match[2]),
  }))
  const dynamic = [...source.replace(COMMENT_LINE, '').matchAll(DYNAMIC)].map((match) => ({
    specifier: match[2]!,
    typeOnly: false,
  }))
  return [...statements, ...dynamic]
}

/** `{ type A, type B }`: nothing of it is left at run time that anything is taken from. */
function importsTypesAlone(names: string | undefined): boolean {
  if (!names?.startsWith('{')) return false
  const list = names
    .slice(1, -1)
    .split(',')
    .filter((name) => name.trim() !== '')
  return list.length > 0 && list.every((name) => /^\s*type\s/.test(name))
}
