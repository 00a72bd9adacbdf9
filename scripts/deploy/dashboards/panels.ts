/**
 * Grafana dashboards from a few words each: rows of panels, their queries and units. What is written by hand elsewhere
 * (positions, ids, the data source) follows from the order.
 */

export interface Query {
  expr: string
  /** Grafana's template: `{{model}}`. */
  legend: string
}

export interface Panel {
  title: string
  /** What a reader is to make of it. */
  description?: string
  kind?: 'lines' | 'stacked' | 'number' | 'table'
  /** Grafana's unit: `s`, `reqps`, `percentunit`, `bytes`, `short`. */
  unit: string
  queries: Query[]
}

export interface Dashboard {
  /** Names the file and the address. */
  uid: string
  title: string
  rows: { title: string; panels: Panel[] }[]
}

const COLUMNS = 24
const MOST_IN_A_ROW = 3
const PANEL_HEIGHT = 8
const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' }

export function grafanaDashboard({ uid, title, rows }: Dashboard): object {
  const panels: object[] = []
  let y = 0
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    })
    y += 1
    const perLine = Math.min(MOST_IN_A_ROW, row.panels.length)
    const w = COLUMNS / perLine
    row.panels.forEach((panel, index) => {
      const gridPos = {
        x: (index % perLine) * w,
        y: y + Math.floor(index / perLine) * PANEL_HEIGHT,
        w,
        h: PANEL_HEIGHT,
      }
      panels.push({ id: panels.length + 1, gridPos, ...grafanaPanel(panel) })
    })
    y += Math.ceil(row.panels.length / perLine) * PANEL_HEIGHT
  }
  return {
    uid: `gateway-${uid}`,
    title: `Gateway / ${title}`,
    tags: ['gateway'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    graphTooltip: 1,
    links: [{ type: 'dashboards', tags: ['gateway'], title: 'Gateway', asDropdown: true, keepTime: true }],
    annotations: { list: [] },
    templating: {
      list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source', current: {} }],
    },
    panels,
  }
}

function grafanaPanel({ title, description, kind = 'lines', unit, queries }: Panel): object {
  const targets = queries.map(({ expr, legend }, index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: DATA_SOURCE,
    expr,
    legendFormat: legend,
    ...(kind === 'table' ? { instant: true, format: 'table' } : {}),
  }))
  const common = { title, ...(description ? { description } : {}), datasource: DATA_SOURCE, targets }
  const defaults = { unit, min: 0 }
  switch (kind) {
    case 'number':
      return {
        ...common,
        type: 'stat',
        fieldConfig: { defaults, overrides: [] },
        options: { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area' },
      }
    case 'table':
      return { ...common, type: 'table', fieldConfig: { defaults: { unit }, overrides: [] }, options: {} }
    case 'lines':
    case 'stacked': {
      const stacking = { mode: kind === 'stacked' ? 'normal' : 'none' }
      const custom = { fillOpacity: kind === 'stacked' ? 30 : 5, showPoints: 'never', stacking }
      return {
        ...common,
        type: 'timeseries',
        fieldConfig: { defaults: { ...defaults, custom }, overrides: [] },
        options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
      }
    }
  }
}

/** The given quantile of a histogram over the panel's interval, by some of its labels. */
export function quantile(share: number, histogram: string, by: string[] = []): string {
  return `histogram_quantile(${share}, sum by (${['le', ...by].join(', ')}) (rate(${histogram}_bucket[$__rate_interval])))`
}

/** Events a second, by some of a counter's labels; `selector` as in PromQL. */
export function perSecond(counter: string, by: string[] = [], selector = ''): string {
  return `sum by (${by.join(', ')}) (rate(${counter}${selector}[$__rate_interval]))`
}

export function quantiles(histogram: string, ...shares: number[]): Query[] {
  return shares.map((share) => ({ expr: quantile(share, histogram), legend: `p${share * 100}` }))
}

/** A gauge, added up by some of its labels. */
export function sum(gauge: string, ...by: string[]): Query {
  return { expr: `sum by (${by.join(', ')}) (${gauge})`, legend: legendOf(by) }
}

/** {@link perSecond} with a legend. */
export function rate(counter: string, by: string[], selector = ''): Query {
  return { expr: perSecond(counter, by, selector), legend: legendOf(by) }
}

function legendOf(labels: string[]): string {
  return labels.map((label) => `{{${label}}}`).join(' ')
}
