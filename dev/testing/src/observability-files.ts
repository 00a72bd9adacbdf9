/**
 * Every PromQL expression under deploy/observability.
 */

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'

export const OBSERVABILITY_FOLDER = join(import.meta.dirname, '../../../deploy/observability')

export interface Rule {
  alert?: string
  record?: string
  expr: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

export async function readRules(): Promise<Rule[]> {
  const file = parse(await readFile(join(OBSERVABILITY_FOLDER, 'alerts.yaml'), 'utf8')) as {
    groups: { rules: Rule[] }[]
  }
  return file.groups.flatMap(({ rules }) => rules)
}

/** With the place of each, for a failing test's words. */
export async function readPanelExpressions(): Promise<{ place: string; expr: string }[]> {
  const folder = join(OBSERVABILITY_FOLDER, 'dashboards')
  const files = (await readdir(folder)).filter((file) => file.endsWith('.json'))
  const dashboards = await Promise.all(
    files.map(async (file) => {
      const { panels } = JSON.parse(await readFile(join(folder, file), 'utf8')) as {
        panels: { title: string; targets?: { expr: string }[] }[]
      }
      return panels.flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }) => ({
          place: `${file}: ${title}`,
          // Grafana's own, not PromQL's.
          expr: expr.replaceAll('$__rate_interval', '1m'),
        })),
      )
    }),
  )
  return dashboards.flat()
}
