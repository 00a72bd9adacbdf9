/**
 * Line charts as SVG, drawn by hand: panels side by side, each with its own axes, readable on light and dark pages.
 *
 * Pure. An axis is logarithmic when its values span more than a factor of twenty.
 */

export interface Panel {
  title: string
  series: { name: string; values: (number | undefined)[] }[]
}

export interface Chart {
  title: string
  xTitle: string
  /** Numbers, or words for values without a distance. */
  xs: (number | string)[]
  panels: Panel[]
}

const PANEL = { width: 360, plot: 150, left: 56, right: 16, bottom: 44 }
const LEGEND_LINE = 14
const COLOURS = ['#4269d0', '#efb118', '#ff725c', '#6cc5b0', '#a463f2']
const LOG_FROM_FACTOR = 20

export function drawChart({ title, xTitle, xs, panels }: Chart): string {
  const width = PANEL.width * panels.length
  // The plots stand side by side below the longest legend.
  const top = 20 + LEGEND_LINE * Math.max(...panels.map(({ series }) => series.length))
  const height = 24 + top + PANEL.plot + PANEL.bottom
  const drawn = panels.map(
    (panel, index) => `<g transform="translate(${index * PANEL.width} 24)">${drawPanel(panel, xs, xTitle, top)}</g>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="11" fill="#777">`,
    `<text x="12" y="18" font-size="14" font-weight="600">${escaped(title)}</text>`,
    ...drawn,
    '</svg>\n',
  ].join('\n')
}

function drawPanel({ title, series }: Panel, xs: Chart['xs'], xTitle: string, top: number): string {
  const bottom = top + PANEL.plot
  const shown = series.flatMap(({ values }) => values).filter((value) => value !== undefined)
  const y = axis(shown, bottom, top)
  const positions = xs.every((x) => typeof x === 'number') ? xs : xs.map((_, index) => index)
  const x = axis(
    positions,
    PANEL.left,
    PANEL.width - PANEL.right,
    xs.every((at) => typeof at === 'number') ? undefined : false,
  )
  const legend = series.map(({ name }, index) => {
    const line = 22 + index * LEGEND_LINE
    const dot = `<circle cx="${PANEL.left + 4}" cy="${line - 4}" r="4" fill="${COLOURS[index % COLOURS.length]}"/>`
    return `${dot}<text x="${PANEL.left + 12}" y="${line}">${escaped(name)}</text>`
  })
  return [
    `<text x="${PANEL.left}" y="8" font-weight="600">${escaped(title)}</text>`,
    ...legend,
    ...y.ticks.map(({ value, at }) => {
      const line = `<line x1="${PANEL.left}" x2="${PANEL.width - PANEL.right}" y1="${at}" y2="${at}" stroke="#7773"/>`
      return `${line}<text x="${PANEL.left - 6}" y="${at + 4}" text-anchor="end">${brief(value)}</text>`
    }),
    ...xs.map((value, index) => {
      const at = x.place(positions[index]!)
      const words = typeof value === 'number' ? brief(value) : value
      return `<text x="${at}" y="${bottom + 16}" text-anchor="middle">${escaped(words)}</text>`
    }),
    `<text x="${(PANEL.left + PANEL.width - PANEL.right) / 2}" y="${bottom + 34}" text-anchor="middle">${escaped(xTitle)}</text>`,
    ...series.map(({ values }, index) =>
      drawLine(values, positions, x.place, y.place, COLOURS[index % COLOURS.length]!),
    ),
  ].join('\n')
}

function drawLine(
  values: (number | undefined)[],
  positions: number[],
  placeX: (value: number) => number,
  placeY: (value: number) => number,
  colour: string,
): string {
  const points = values.flatMap((value, index) =>
    value === undefined ? [] : [`${placeX(positions[index]!).toFixed(1)},${placeY(value).toFixed(1)}`],
  )
  const dots = points.map(
    (point) => `<circle cx="${point.split(',')[0]}" cy="${point.split(',')[1]}" r="2.5" fill="${colour}"/>`,
  )
  return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>${dots.join('')}`
}

/** Places values between two pixels. */
function axis(values: number[], from: number, to: number, isLog = spansFar(values)) {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  // A linear axis of quantities begins at nothing; one of mere positions where they begin.
  const low = isLog ? 10 ** Math.floor(Math.log10(least)) : Math.min(0, least)
  const high = isLog ? 10 ** Math.ceil(Math.log10(most)) : roundUp(most)
  const scale = (value: number) => (isLog ? Math.log10(Math.max(value, low)) : value)
  const place = (value: number) => from + ((scale(value) - scale(low)) / (scale(high) - scale(low) || 1)) * (to - from)
  const values10 = () => Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, index) => low * 10 ** index)
  const quarters = () => [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low))
  const ticks = (isLog ? values10() : quarters()).map((value) => ({ value, at: Math.round(place(value)) }))
  return { place, ticks }
}

function spansFar(values: number[]): boolean {
  const least = Math.min(...values)
  return least > 0 && Math.max(...values) / least > LOG_FROM_FACTOR
}

/** The next of 1, 2, 4, 5 or 8 times a power of ten. */
function roundUp(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 4, 5, 8, 10].map((step) => step * power).find((step) => step >= value)!
}

/** `3k`, `10M`, `0.25`. */
function brief(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(2))}M`
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(2))}k`
  return String(Number(value.toPrecision(2)))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
