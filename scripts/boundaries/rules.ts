/**
 * The rules of the layout, each a function from the source tree to its violations. CONTRIBUTING.md lists them.
 */

import { builtinModules } from 'node:module'
import { exportOf, type Owner, type ResolvedImport, type SourceFile, type SourceTree } from './source-tree.ts'

export interface Violation {
  rule: string
  path: string
  message: string
}

type Rule = (tree: SourceTree) => Iterable<Omit<Violation, 'rule'>>

/** Pure code may import these from outside of this repository: computations, and nothing that touches the world. */
const PURE_MODULES = new Set([
  ...['zod', 'gpt-tokenizer', '@pydantic/genai-prices'],
  ...['node:crypto', 'node:buffer', 'node:util'],
])
/** Reads data that its package ships, once, when it is imported: an import of JSON does no more. */
const DATA_READER = 'packages/auto/src/read-packed.ts'
const WORLDLY =
  /(?<![\w.])(?:Date\.now\(|new Date\(\)|performance\.now\(|Math\.random\(|process\.|fetch\(|setTimeout\(|setInterval\(|console\.)/
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*$/gm

export const rules: Record<string, Rule> = {
  'services never import services, standalone alone composes them by their start': function* (tree) {
    for (const { file, item, target } of crossings(tree)) {
      if (target.kind !== 'service' || file.owner.kind !== 'service') continue
      const isStandalone = file.owner.folder === 'services/standalone'
      if (isStandalone && item.specifier === `${target.manifest.name}/start`) continue
      yield { path: file.path, message: `imports ${item.specifier} of another service` }
    }
  },

  'packages never import services': function* (tree) {
    for (const { file, item, target } of crossings(tree)) {
      if (file.owner.kind !== 'package' || target.kind !== 'service') continue
      yield { path: file.path, message: `imports ${item.specifier} of a service` }
    }
  },

  'the product never imports what is for developers alone': function* (tree) {
    for (const { file, item, target } of crossings(tree)) {
      if (file.testOnly || file.owner.folder.startsWith('dev/') || !target.folder.startsWith('dev/')) continue
      yield { path: file.path, message: `imports ${item.specifier}, which is for developers` }
    }
  },

  'relative imports stay in their own package': function* (tree) {
    for (const { file, item } of crossings(tree)) {
      // Scripts and whole-system tests look into services on purpose.
      if (file.owner.kind !== 'root' && item.specifier.startsWith('.'))
        yield { path: file.path, message: `reaches into another package: ${item.specifier}` }
    }
  },

  'nobody imports past the exports of a package, and each export has a user': function* (tree) {
    const used = new Set<string>()
    for (const { file, item, target } of crossings(tree)) {
      if (item.specifier.startsWith('.')) continue
      used.add(item.specifier)
      const { exports = {} } = target.manifest
      if ('./*' in exports || exportOf(item.specifier, target) in exports) continue
      yield {
        path: file.path,
        message: `imports ${item.specifier}, which ${target.folder}/package.json does not export`,
      }
    }
    for (const { folder, manifest } of tree.owners) {
      for (const entry of Object.keys(manifest.exports ?? {})) {
        const isUsed = entry === './*' || used.has(`${manifest.name}${entry.slice(1)}`)
        if (!isUsed) yield { path: `${folder}/package.json`, message: `exports ${entry}, which nobody imports` }
      }
    }
  },

  'contracts needs zod only': function* (tree) {
    for (const file of tree.files.values()) {
      if (file.owner.folder !== 'packages/contracts' || file.testOnly) continue
      for (const { specifier } of file.imports) {
        if (specifier !== 'zod' && !specifier.startsWith('.'))
          yield { path: file.path, message: `imports ${specifier}` }
      }
    }
  },

  'core, pricing and auto reach no I/O': function* (tree) {
    for (const file of tree.files.values()) {
      if (!isPure(file)) continue
      for (const way of waysOut(tree, file)) yield { path: file.path, message: `reaches ${way}` }
    }
  },

  'core, pricing and auto take the time and chance as arguments': function* (tree) {
    for (const file of tree.files.values()) {
      const found = isPure(file) && WORLDLY.exec(file.source.replaceAll(COMMENT, ''))
      if (found) yield { path: file.path, message: `uses ${found[0].replace(/[.(]+$/, '')}` }
    }
  },

  'imports form no cycle': function* (tree) {
    for (const cycle of cyclesOf([...tree.files.keys()], (path) => targetsOf(tree.files.get(path)))) {
      yield { path: cycle[0]!, message: [...cycle, cycle[0]].join(' → ') }
    }
    const byName = new Map(tree.owners.map((owner) => [owner.manifest.name, owner]))
    const needs = (name: string): string[] => Object.keys(byName.get(name)?.manifest.dependencies ?? {})
    for (const cycle of cyclesOf([...byName.keys()], (name) => needs(name).filter((need) => byName.has(need)))) {
      yield { path: `${byName.get(cycle[0]!)!.folder}/package.json`, message: [...cycle, cycle[0]].join(' → ') }
    }
  },

  'the folders of a service import each other in one direction': function* (tree) {
    for (const owner of tree.owners) {
      if (owner.kind !== 'service') continue
      const needs = importsBetweenPlaces(tree, owner)
      for (const cycle of cyclesOf([...needs.keys()], (place) => [...(needs.get(place) ?? [])])) {
        // The rule of files finds a cycle of files alone.
        if (cycle.every((place) => place.endsWith('.ts'))) continue
        yield { path: `${owner.folder}/src`, message: [...cycle, cycle[0]].join(' → ') }
      }
    }
  },

  'a package is imported only where it is declared': function* (tree) {
    const root = tree.owners.find(({ kind }) => kind === 'root')
    for (const file of tree.files.values()) {
      const declared = declaredFor(file, root)
      for (const { specifier } of file.imports) {
        const name = packageName(specifier)
        if (name === null || name === file.owner.manifest.name || declared.has(name)) continue
        yield {
          path: file.path,
          message: `imports ${name}, which ${file.owner.folder || 'the root'}/package.json does not declare`,
        }
      }
    }
  },
}

export function findViolations(tree: SourceTree): Violation[] {
  return Object.entries(rules).flatMap(([rule, find]) => [...find(tree)].map((found) => ({ rule, ...found })))
}

/** Imports from one package, service or the root into another. */
function* crossings(tree: SourceTree): Iterable<{ file: SourceFile; item: ResolvedImport; target: Owner }> {
  for (const file of tree.files.values()) {
    for (const item of file.imports) {
      const target = item.target === null ? undefined : ownerOfPath(tree, item.target)
      if (target && target !== file.owner) yield { file, item, target }
    }
  }
}

/** A folder of `src` is one place, and so is each file beside the folders. Imports of types count, those of tests do not. */
function importsBetweenPlaces(tree: SourceTree, owner: Owner): Map<string, Set<string>> {
  const src = `${owner.folder}/src/`
  const placeOf = (path: string): string => path.slice(src.length).split('/', 1)[0]!
  const needs = new Map<string, Set<string>>()
  for (const file of tree.files.values()) {
    if (file.testOnly || !file.path.startsWith(src)) continue
    const place = placeOf(file.path)
    const needed = needs.get(place) ?? new Set()
    needs.set(place, needed)
    for (const target of targetsOf(file)) {
      if (target.startsWith(src) && placeOf(target) !== place) needed.add(placeOf(target))
    }
  }
  return needs
}

function ownerOfPath(tree: SourceTree, path: string): Owner | undefined {
  const inside = tree.owners.filter(({ folder }) => folder !== '' && path.startsWith(`${folder}/`))
  return inside[0] ?? tree.owners.find(({ folder }) => folder === '')
}

function isPure(file: SourceFile): boolean {
  return (
    !file.testOnly &&
    file.path !== DATA_READER &&
    (/\/src\/(?:.+\/)?core\//.test(file.path) || /^packages\/(?:pricing|auto)\/src\//.test(file.path))
  )
}

/** Every impure module that running `start` would load, with the way to it. */
function waysOut(tree: SourceTree, start: SourceFile): string[] {
  const found: string[] = []
  const seen = new Set([start.path])
  const walk = (file: SourceFile, way: string[]): void => {
    for (const { specifier, typeOnly, target } of file.imports) {
      if (typeOnly) continue
      if (target === null) {
        if (!PURE_MODULES.has(packageName(specifier) ?? withNodePrefix(specifier)))
          found.push([...way, specifier].join(' → '))
      } else if (target !== DATA_READER && !seen.has(target)) {
        seen.add(target)
        const next = tree.files.get(target)
        if (next) walk(next, [...way, target])
      }
    }
  }
  walk(start, [])
  return found
}

function targetsOf(file: SourceFile | undefined): string[] {
  return (file?.imports ?? []).flatMap(({ target }) => target ?? [])
}

/** One cycle for each way back that a depth-first walk meets. */
function cyclesOf(nodes: string[], next: (node: string) => string[]): string[][] {
  const cycles: string[][] = []
  const done = new Set<string>()
  const path: string[] = []
  const walk = (node: string): void => {
    const start = path.indexOf(node)
    if (start >= 0) return void cycles.push(path.slice(start))
    if (done.has(node)) return
    path.push(node)
    for (const target of next(node)) walk(target)
    path.pop()
    done.add(node)
  }
  for (const node of nodes) walk(node)
  return cycles
}

function declaredFor(file: SourceFile, root: Owner | undefined): Set<string> {
  const { dependencies, optionalDependencies, devDependencies } = file.owner.manifest
  const forTests = file.testOnly ? { ...devDependencies, ...root?.manifest.devDependencies } : {}
  return new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...forTests }))
}

/** `@scope/name` or `name` of a package; null for relative imports and Node's own modules. */
function packageName(specifier: string): string | null {
  if (specifier.startsWith('.') || specifier.startsWith('node:') || builtinModules.includes(specifier)) return null
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

function withNodePrefix(specifier: string): string {
  return specifier.startsWith('node:') ? specifier : `node:${specifier}`
}
