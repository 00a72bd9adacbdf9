/**
 * The manifests beside the chart fit it: kinds that a cluster accepts, names of the chart, settings of the compose file.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { render } from './chart.ts'
import { type Manifest, problemsOf, readManifests } from './validate-manifests.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8')
const external = ['--set', 'edge.autoscaling.external=true,router.autoscaling.external=true']

test.each(['keda', 'redis'])('a cluster takes %s.yaml whole', (name) => {
  expect(problemsOf(readManifests(read(`companions/${name}.yaml`)))).toEqual([])
})

test('KEDA scales the deployments of the chart up to the number that the edges are configured for', () => {
  const charted = readManifests(render('minimal', ...external)) as (Manifest & { spec: object })[]
  const scaled = readManifests(read('companions/keda.yaml')) as unknown as {
    spec: { scaleTargetRef: { name: string }; maxReplicaCount: number }
  }[]
  const { edge, router } = parse(read('chart/values.yaml')) as Record<string, { autoscaling: { maxReplicas: number } }>
  expect(scaled.map(({ spec }) => spec.maxReplicaCount)).toEqual([
    edge!.autoscaling.maxReplicas,
    router!.autoscaling.maxReplicas,
  ])
  for (const { spec } of scaled) {
    const target = charted.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === spec.scaleTargetRef.name,
    )
    expect(target?.spec).toBeDefined()
    expect(target?.spec).not.toHaveProperty('replicas')
  }
  expect(charted.filter(({ kind }) => kind === 'HorizontalPodAutoscaler')).toEqual([])
})

test('KEDA adds and removes pods as slowly as the autoscalers of the chart', () => {
  interface Behaving {
    kind: string
    spec: { behavior: object; advanced: { horizontalPodAutoscalerConfig: { behavior: object } } }
  }
  const charted = readManifests(render('minimal')) as unknown as Behaving[]
  const scaled = readManifests(read('companions/keda.yaml')) as unknown as Behaving[]
  const ofChart = charted.filter(({ kind }) => kind === 'HorizontalPodAutoscaler').map(({ spec }) => spec.behavior)
  expect(scaled.map(({ spec }) => spec.advanced.horizontalPodAutoscalerConfig.behavior)).toEqual(ofChart)
})

test('the adapter serves the metric that the autoscalers query', () => {
  const { rules } = parse(read('companions/prometheus-adapter.yaml')) as {
    rules: { custom: [{ name: { matches: string } }] }
  }
  expect(render('production')).toContain(`metric: { name: ${rules.custom[0].name.matches} }`)
})

test.each([
  ['redis', 6379],
  ['cloudnative-pg', 5432],
])('%s.yaml lets in the services that the chart lets go to port %d, and no other', (name, port) => {
  const charted = readManifests(render('minimal')) as unknown as {
    kind: string
    spec: {
      podSelector: { matchLabels: Record<string, string> }
      egress?: { ports: { port: number | string }[] }[]
    }
  }[]
  const senders = charted
    .filter(({ kind, spec }) => kind === 'NetworkPolicy' && spec.egress?.some(({ ports }) => ports[0]!.port === port))
    .map(({ spec }) => spec.podSelector.matchLabels['app.kubernetes.io/component'])
  const policies = readManifests(read(`companions/${name}.yaml`)).filter(({ kind }) => kind === 'NetworkPolicy')
  expect(problemsOf(policies)).toEqual([])
  expect(policies).toMatchObject([{ spec: { policyTypes: ['Ingress'] } }])
  const [{ spec }] = policies as unknown as [{ spec: { ingress: { from: { podSelector?: Selector }[] }[] } }]
  const selectors = spec.ingress.flatMap(({ from }) => from.map(({ podSelector }) => podSelector))
  const ofGateway = selectors.filter((selector) => selector?.matchLabels['app.kubernetes.io/name'] === 'model-gateway')
  expect(ofGateway.map((selector) => selector!.matchExpressions)).toEqual([
    [{ key: 'app.kubernetes.io/component', operator: 'In', values: senders }],
  ])
})

interface Selector {
  matchLabels: Record<string, string>
  matchExpressions?: object[]
}

test('Redis keeps its state in Kubernetes as it does in compose', () => {
  const [config] = readManifests(read('companions/redis.yaml')) as unknown as [{ data: Record<string, string> }]
  const settings = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(settings(config.data['redis.conf']!)).toEqual(settings(read('compose/redis.conf')))
})
