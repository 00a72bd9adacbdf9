/**
 * The chart takes the values of a proof, on a cluster of the reader's and on one that was built here.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { CHART } from '../../../scripts/deploy/chart.ts'
import { helm } from '../../../scripts/deploy/helm.ts'
import { problemsOf, readManifests } from '../../../scripts/deploy/validate-manifests.ts'
import type { Cluster, Machine } from './cluster.ts'
import { clusterTools } from './cluster-tools.ts'
import { readOptions } from './options.ts'
import { loadedImages } from './own-cluster/images.ts'
import { chartValues, namesOfServices } from './stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'gateway-stage-'))
afterAll(() => rmSync(folder, { recursive: true }))

const given = readOptions(['--context', 'theirs', '--registry', 'registry.test/gateway', '--tag', '7'], '1.2.3')
if (given.kind !== 'given cluster') throw new Error('the options name a cluster')
const machine = { address: '10.200.0.1' } as Machine
const shared = { tools: clusterTools({ context: 'theirs' }), addresses: namesOfServices, folder }

test.each<[name: string, cluster: Cluster, edge: string, nats: string]>([
  ['given', { ...shared, images: given.images }, 'registry.test/gateway/edge:7', 'docker.io/library/nats:'],
  ['built here', { ...shared, images: loadedImages, machine }, 'model-gateway/edge:0.1.0', 'prove/nats'],
])('on a cluster that is %s, the chart renders with its images and its network', (name, cluster, edge, nats) => {
  const values = join(folder, `${name.replace(' ', '-')}.json`)
  writeFileSync(values, JSON.stringify(chartValues(cluster)))
  const rendered = helm('template', 'gateway', CHART, '--values', values)
  const manifests = readManifests(rendered)
  expect(problemsOf(manifests)).toEqual([])
  expect(rendered).toContain(`image: "${edge}"`)
  expect(rendered).toContain(`image: "${nats}`)
  // Only an own cluster is sure to know the kind, and to have its clients on its machine.
  expect(manifests.some(({ kind }) => kind === 'ServiceMonitor')).toBe(cluster.machine !== undefined)
  expect(rendered.includes('10.200.0.1/32')).toBe(cluster.machine !== undefined)
})
