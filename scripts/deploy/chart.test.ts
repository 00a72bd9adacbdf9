/**
 * The checks of the chart find what they are there for: each is shown failing.
 */

import { describe, expect, test } from 'vitest'
import { brokenRules } from './chart-rules.ts'
import { render } from './chart.ts'
import { type Manifest, problemsOf, readManifests } from './validate-manifests.ts'

const rendered = render('production')

/** What is said of the rendering once `text` in it is another. */
function complaintsAfter(text: string | RegExp, replacement: string): string[] {
  const changed = rendered.replace(text, replacement)
  expect(changed).not.toBe(rendered)
  const manifests = readManifests(changed)
  return [...problemsOf(manifests), ...brokenRules(manifests)]
}

test('the rendering as it is breaks nothing', () => {
  const manifests = readManifests(rendered)
  expect([...problemsOf(manifests), ...brokenRules(manifests)]).toEqual([])
})

describe('a field that Kubernetes does not know, or of another type, is refused', () => {
  test.each<[string, string, string]>([
    ['minReadySeconds: 5', 'minReadySecond: 5', '/spec/minReadySecond is not a field'],
    ['readOnlyRootFilesystem', 'readOnlyRootFileSystem', '/readOnlyRootFileSystem is not a field'],
    ['failureThreshold: 150', 'failureThreshold: "150"', '/failureThreshold must be integer'],
    ['maxReplicas: 40', 'maxReplica: 40', "must have required property 'maxReplicas'"],
    ['podSelector:', 'podSelectors:', '/spec/podSelectors is not a field'],
    ['path: /metrics, interval', 'path: /metrics, intervall', '/intervall is not a field'],
    [
      'apiVersion: policy/v1',
      'apiVersion: policy/v1beta1',
      'nobody knows the schema of policy/v1beta1/PodDisruptionBudget',
    ],
  ])('%s → %s', (text, replacement, complaint) => {
    expect(complaintsAfter(text, replacement).join('\n')).toContain(complaint)
  })
})

describe('what does not fit together is refused', () => {
  test.each<[string, string | RegExp, string, string]>([
    [
      'a variable that the service does not read',
      'name: DRAIN_MS',
      'name: DRAIN_SECONDS',
      'edge does not read DRAIN_SECONDS',
    ],
    ['a value that the service refuses', 'value: "8080"', 'value: "http"', 'PORT'],
    [
      'a required variable left out',
      /- name: KEYS_MASTER_SECRET\n.*\n/,
      '- name: OTHER\n',
      'KEYS_MASTER_SECRET  is not set',
    ],
    [
      'a probe of a closed port',
      'path: /readyz, port: health',
      'path: /readyz, port: admin',
      'its readinessProbe asks a port that is not open',
    ],
    [
      'a service that leads nowhere',
      'targetPort: http',
      'targetPort: https',
      'leads to the port https, which nobody opens',
    ],
    [
      'a budget for nobody',
      /(AlwaysAllow[\s\S]*?component: )edge/,
      '$1edges',
      'PodDisruptionBudget gateway-model-gateway-edge selects nothing',
    ],
    [
      'a pod that is killed while it drains',
      'terminationGracePeriodSeconds: 640',
      'terminationGracePeriodSeconds: 600',
      'is killed',
    ],
    ['a pod that may run as root', 'runAsNonRoot: true', 'runAsNonRoot: false', 'may run as root'],
    [
      'a container that may write',
      'readOnlyRootFilesystem: true',
      'readOnlyRootFilesystem: false',
      'may write its root file system',
    ],
    ['a config file that does not load', 'backend: gpu-a', 'backend: gpu-b', 'gpu-b'],
    [
      'a config file that is not mounted',
      'mountPath: /etc/model-gateway',
      'mountPath: /etc/gateway',
      'which nothing mounts',
    ],
    [
      'a volume that is not there',
      /volumes:\n +- name: config/,
      'volumes:\n        - name: settings',
      'mounts config, which is no volume of it',
    ],
    [
      'replicas beside an autoscaler',
      'minReadySeconds: 5',
      'replicas: 3\n  minReadySeconds: 5',
      'two set the number of its pods',
    ],
  ])('%s', (_, text, replacement, complaint) => {
    expect(complaintsAfter(text, replacement).join('\n')).toContain(complaint)
  })

  test('a service that is not run', () => {
    const withoutKeys = (manifest: Manifest) =>
      !(manifest.kind === 'Deployment' && manifest.metadata.name.endsWith('-keys'))
    expect(brokenRules(readManifests(rendered).filter(withoutKeys))).toContain('nothing runs keys')
  })
})

describe('values that the chart does not have, or that cannot be meant, are refused', () => {
  test.each<[string, string]>([
    ['edge.replcas=3', "additional properties 'replcas' not allowed"],
    ['publicUrl=ai.example.com', "at '/publicUrl'"],
    ['edge.drainSeconds=ten', "at '/edge/drainSeconds'"],
    ['nats.syncInterval=sometimes', "at '/nats/syncInterval'"],
    ['nats.enabled=false', "at '/nats/address'"],
    ['configMap=other', "at '/config'"],
    ['ingress.host=', "at '/ingress/host'"],
    ['secrets.redis.kye=url', "additional properties 'kye' not allowed"],
  ])('%s', (value, complaint) => {
    expect(() => render('production', '--set', value)).toThrow(complaint)
  })
})

describe('what an operator is promised', () => {
  const manifests = readManifests(rendered) as (Manifest & { spec: Record<string, unknown> })[]
  const named = (kind: string, name: string) =>
    manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)!

  test('no secret is in the chart: every password is a reference', () => {
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([])
    const variables = rendered.matchAll(/name: (\w*(?:PASSWORD|SECRET|DATABASE_URL|REDIS_URL)\w*)(.*\n.*)/g)
    const values = [...variables].filter(([, , rest]) => !rest!.includes('secretKeyRef')).map(([, name]) => name)
    expect(values).toEqual([])
  })

  test('edges are told of the most that ever run: the autoscaler’s, and those of a rollout', () => {
    expect(rendered).toContain('{ name: EDGE_REPLICAS_MAX, value: "41" }')
  })

  test('an edge goes on during the notice, retires its connections, drains, and only then is killed', () => {
    const { template } = named('Deployment', 'gateway-model-gateway-edge').spec as { template: { spec: object } }
    expect(template.spec).toMatchObject({
      terminationGracePeriodSeconds: 5 + 5 + 600 + 30,
      containers: [{ lifecycle: { preStop: { sleep: { seconds: 5 } } } }],
    })
  })

  test.each([
    ['edge', ['53', 'client', '6379', '443', '4318']],
    ['router', ['53', 'client', '443', '8000', '4318']],
    ['keys', ['53', 'client', '6379', '5432', '4318']],
    ['metering', ['53', 'client', '6379', '5432', '4318']],
  ])('%s may go to %j and nowhere else', (service, ports) => {
    const { egress } = named('NetworkPolicy', `gateway-model-gateway-${service}`).spec as {
      egress: { ports: { port: string | number }[] }[]
    }
    expect([...new Set(egress.flatMap((rule) => rule.ports.map(({ port }) => String(port))))]).toEqual(ports)
  })

  test('and by default nobody may go anywhere', () => {
    expect(named('NetworkPolicy', 'gateway-model-gateway-deny').spec).toEqual({
      podSelector: {
        matchLabels: { 'app.kubernetes.io/name': 'model-gateway', 'app.kubernetes.io/instance': 'gateway' },
      },
      policyTypes: ['Ingress', 'Egress'],
    })
  })
})
