/**
 * Pages that tests write: `docs/fault-table.md` lists the effect of each fault, and `docs/dialects.md` the fate of each
 * field of a request.
 *
 * A run with `GENERATE_DOCS=1` writes its section of the page again. Any other run compares each row, and in the end
 * the set of rows, so that the page can neither lie nor miss a case.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface FaultPageSection {
  /** States the outcome of one case. Throws when the page states another. */
  row(...cells: string[]): void
  /** Text below the table: figures of this run. They differ from run to run, so they are not compared. */
  note(text: string): void
  /** Writes the section, or throws when the page has rows that no case of this run produced. */
  close(): void
}

const DOCS = join(import.meta.dirname, '../../../docs')
const FAULTS = 'fault-table.md'

export function faultPageSection(name: string, columns: readonly string[], file = FAULTS): FaultPageSection {
  const path = join(DOCS, file)
  const isWriting = process.env['GENERATE_DOCS'] === '1'
  const begin = `<!-- section ${name}: written by its test with GENERATE_DOCS=1 -->`
  const end = `<!-- end of ${name} -->`
  const page = readFileSync(path, 'utf8')
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/${file} has no section ${name}`)
  const written = page.slice(from + begin.length, to)
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const rows: string[] = []
  const notes: string[] = []
  return {
    row(...cells) {
      rows.push(line(cells))
      if (!isWriting && !written.includes(`${line(cells)}\n`)) {
        throw new Error(`docs/${file} does not say: ${line(cells)}\nRun this test with GENERATE_DOCS=1.`)
      }
    },
    note: (text) => void notes.push(text),
    close() {
      const heading = [line(columns), line(columns.map(() => '---'))]
      if (isWriting) {
        const table = [...heading, ...rows].join('\n')
        const section = [begin, '', table, ...notes.flatMap((note) => ['', note]), '', end].join('\n')
        // Another section's test may have written meanwhile.
        const now = readFileSync(path, 'utf8')
        const [start, stop] = [now.indexOf(begin), now.indexOf(end) + end.length]
        writeFileSync(path, now.slice(0, start) + section + now.slice(stop))
        return
      }
      const lines = written.split('\n').filter((text) => text.startsWith('| '))
      const stale = lines.slice(heading.length).filter((text) => !rows.includes(text))
      if (stale.length > 0) throw new Error(`docs/${file} has rows without a case:\n${stale.join('\n')}`)
    },
  }
}
