/**
 * The result of a command: data for scripts, the same as text and tables for people.
 */

export interface CommandResult {
  data: object
  text: string
  /** The command ran, and an operator must act on its findings. */
  findsFault?: boolean
}

export interface Column<Row> {
  title: string
  /** Numbers stand to the right, with thousands apart. */
  cell(row: Row): string | number
}

export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)))
  const texts = [columns.map(({ title }) => title), ...cells.map((line) => line.map(writeCell))]
  const widths = columns.map((_, index) => Math.max(...texts.map((line) => line[index]!.length)))
  const isNumber = columns.map((_, index) => cells.length > 0 && cells.every((line) => typeof line[index] === 'number'))
  return texts
    .map((line) =>
      line
        .map((text, index) => (isNumber[index] ? text.padStart(widths[index]!) : text.padEnd(widths[index]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Characters that a terminal obeys, that end a line, or that turn its direction. */
const COMMANDS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** A text that strangers may have chosen: the sub of a token, a backend's words. It stays one line of harmless characters. */
export function oneLine(text: string): string {
  return text.replaceAll(COMMANDS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function writeCell(cell: string | number): string {
  return typeof cell === 'string' ? oneLine(cell) : cell.toLocaleString('en', { maximumFractionDigits: 9 })
}
