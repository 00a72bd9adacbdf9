import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OBSERVABILITY_FOLDER, readPanelExpressions, readRules } from '@gateway/testing/observability-files'
import { readExpression } from '@gateway/testing/promql'
import { promtool } from '@gateway/testing/promtool'
import { expect, test } from 'vitest'

const TESTS = join(OBSERVABILITY_FOLDER, 'alerts.test.yaml')

test('every dashboard has the address of its file, and each of its panels has a title, a place and a query', () => {
  const folder = join(OBSERVABILITY_FOLDER, 'dashboards')
  for (const file of readdirSync(folder)) {
    const dashboard = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { uid: string; panels: { id: number }[] }
    expect(`${dashboard.uid}.json`).toBe(`gateway-${file}`)
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
    const query = expect.objectContaining({ expr: expect.stringMatching(/^\S/) })
    for (const panel of dashboard.panels) {
      const shown = 'type' in panel && panel.type === 'row' ? {} : { targets: expect.arrayContaining([query]) }
      expect(panel).toMatchObject({ title: expect.stringMatching(/^\S/), gridPos: expect.anything(), ...shown })
    }
  }
})

test('every panel shows the gateways that its viewer has chosen', async () => {
  for (const { place, expr } of await readPanelExpressions()) {
    const metrics = readExpression(expr)
    expect({ place, chosen: metrics.filter(({ labels }) => labels.includes('gateway')) }).toEqual({
      place,
      chosen: metrics,
    })
  }
})

test('every alert states the problem, its severity and the page with the remedy', async () => {
  for (const { alert, labels, annotations } of (await readRules()).filter((rule) => rule.alert)) {
    expect({ alert, severity: labels?.['severity'], ...annotations }).toEqual({
      alert: expect.stringMatching(/^Gateway[A-Z][A-Za-z]+$/),
      severity: expect.stringMatching(/^(critical|warning)$/),
      summary: expect.stringMatching(/^\S.{10,}/),
      description: expect.stringMatching(/^\S.{20,}\.$/s),
      runbook_url: `docs/operations.md#${alert!.toLowerCase()}`,
    })
  }
})

test('Prometheus takes the rules; each alert holds still while all is well and fires when it is not', async () => {
  const alerts = (await readRules()).flatMap(({ alert }) => alert ?? [])
  const tested = Array.from(readFileSync(TESTS, 'utf8').matchAll(/^ {2}- name: (\w+)$/gm), ([, name]) => name!)
  expect(tested.toSorted()).toEqual(alerts.toSorted())
  expect(await promtool('check', 'rules', join(OBSERVABILITY_FOLDER, 'alerts.yaml'))).toContain('SUCCESS')
  expect(await promtool('test', 'rules', TESTS)).toContain('SUCCESS')
})
