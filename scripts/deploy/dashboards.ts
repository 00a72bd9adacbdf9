/**
 * Grafana's dashboards as files, and how they follow from their definitions.
 */

import { join } from 'node:path'
import { admission } from './dashboards/admission.ts'
import { metering } from './dashboards/metering.ts'
import { overview } from './dashboards/overview.ts'
import { grafanaDashboard } from './dashboards/panels.ts'
import { processes } from './dashboards/processes.ts'
import { routing } from './dashboards/routing.ts'

const FOLDER = join(import.meta.dirname, '../../deploy/observability/dashboards')

export function dashboardFiles(): { path: string; text: string }[] {
  return [overview, routing, admission, metering, processes].map((dashboard) => ({
    path: join(FOLDER, `${dashboard.uid}.json`),
    text: `${JSON.stringify(grafanaDashboard(dashboard), null, 2)}\n`,
  }))
}
