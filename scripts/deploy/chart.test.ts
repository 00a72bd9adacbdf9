/**
 * Each check of the chart finds the mistake that it is for: a case shows it failing.
 */

import { join } from 'node:path'
import { readRules } from '@gateway/testing/observability-files'
import { describe, expect, test } from 'vitest'
import { brokenRules } from './chart-rules.ts'
import { CHART, DEPLOY, render } from './chart.ts'
import { helm } from './helm.ts'
import { type Manifest, problemsOf, readManifests } from './validate-manifests.ts'

const rendered = render('production')

/** Problems of the rendering after a replacement in it. */
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
    ['interval: 15s', 'intervall: 15s', '/intervall is not a field'],
    [
      'apiVersion: policy/v1',
      'apiVersion: policy/v1beta1',
      'nobody knows the schema of policy/v1beta1/PodDisruptionBudget',
    ],
  ])('%s → %s', (text, replacement, complaint) => {
    expect(complaintsAfter(text, replacement).join('\n')).toContain(complaint)
  })
})

describe('manifests that do not fit together are refused', () => {
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
    [
      'a backend on a port that the policy keeps shut',
      /port: 8000\n/,
      'port: 8001\n',
      'keeps the router from gpu-a at http://vllm.inference.svc:8000/v1',
    ],
    ['a policy for everybody of IPv4 alone', /'?::\/0'?\n/, '2001:db8::/32\n', 'names 0.0.0.0/0, not ::/0'],
    [
      'series under the name of a Service',
      'honorLabels: true',
      'honorLabels: false',
      'series lose their label service',
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
    ['nats.tls.enabled=true', "at '/nats/tls/secretName'"],
    ['httpRoute.enabled=true', "at '/httpRoute/parentRefs'"],
    ['router.image.digest=sha256:abc', "at '/router/image/digest'"],
    ['trustedAuthorities.configMap=a,trustedAuthorities.secret=b', "at '/trustedAuthorities'"],
    ['ingress.host=', "at '/ingress/host'"],
    ['secrets.redis.kye=url', "additional properties 'kye' not allowed"],
    ['secrets.backends=Backends', "at '/secrets/backends'"],
    ['config=null', "missing property 'config'"],
  ])('%s', (value, complaint) => {
    expect(() => render('production', '--set', value)).toThrow(complaint)
  })
})

test.each([
  ['minimal', 'ClusterIP', '', '1'],
  ['minimal', 'LoadBalancer', '', 'false'],
  ['minimal', 'NodePort', '', 'false'],
  ['minimal', 'LoadBalancer', '10.0.0.0/8', '10.0.0.0/8'],
  ['production', 'LoadBalancer', '2', '2'],
])('%s by a %s with trustProxy %j believes the proxies %s', (values, type, trustProxy, believed) => {
  const settings = `edge.service.type=${type},trustProxy=${trustProxy}`
  const text = render(values, '--set-string', settings)
  expect(/name: TRUST_PROXY, value: "(.*)"/.exec(text)?.[1]).toBe(believed)
  expect(brokenRules(readManifests(text))).toEqual([])
})

/** Problems of a rendering. */
function complaints(text: string): string[] {
  const manifests = readManifests(text)
  return [...problemsOf(manifests), ...brokenRules(manifests)]
}

describe('values that are strange, but right, render manifests that Kubernetes accepts', () => {
  test.each([
    ['a Secret whose name is a number', 'secrets.redis.name=4711,secrets.redis.key=1,secrets.masterSecret.name=1e3'],
    ['the credentials of backends and registries in such', 'secrets.backends=4711,image.pullSecrets[0]=0'],
    ['an authority in such', 'trustedAuthorities.secret=0815'],
    ['classes that are numbers', 'ingress.className=1,nats.storage.className=2,edge.priorityClassName=3'],
    ['every host of a domain', 'ingress.host=*.example.com,ingress.tlsSecret=1'],
  ])('%s', (_, settings) => {
    expect(complaints(render('production', '--set-string', settings))).toEqual([])
  })

  test('a release and a ConfigMap whose names are numbers, and a section without content', () => {
    const addresses = ['--set', 'publicUrl=https://a.example,signIn.issuer=https://b.example,config=null']
    const values = [...addresses, '--set-string', 'configMap=0815']
    expect(complaints(helm('template', '4711', CHART, ...values))).toEqual([])
  })

  test('users as OpenShift numbers them', () => {
    const text = render('minimal', '--set-json', 'podSecurity={"runAsUser":1000680000,"fsGroup":1000680000}')
    expect(text).toContain('runAsUser: 1000680000')
    expect(text).not.toContain('e+')
  })
})

describe('access to metrics', () => {
  const readers = (service: string, list: string) => {
    const text = render('production', '--set-json', `networkPolicy.monitoringFrom=${list}`)
    const policy = readManifests(text).find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === `gateway-model-gateway-${service}`,
    ) as unknown as { spec: { ingress: { ports: { port: string }[]; from?: object[] }[] } }
    return policy.spec.ingress.filter(({ ports }) => ports.some(({ port }) => port === 'health'))
  }

  test.each(['edge', 'router', 'keys', 'metering'])('%s: those that are listed', (service) => {
    expect(readers(service, '[{"podSelector":{}}]')).toEqual([
      { from: [{ podSelector: {} }], ports: [{ port: 'health', protocol: 'TCP' }] },
    ])
  })

  test.each(['edge', 'router', 'keys', 'metering'])('%s: nobody, where the list is empty', (service) => {
    expect(readers(service, '[]')).toEqual([])
  })
})

test.each(['gateway', 'inference-production-eu-west-1-blue', 'platform-inference-production-eu-central-1-blue-2'])(
  'alerts find the processes of the release %s by their job',
  async (release) => {
    const text = helm('template', release, CHART, '--values', join(DEPLOY, 'values', 'production.yaml'))
    const manifests = readManifests(text) as (Manifest & { metadata: { labels?: Record<string, string> } })[]
    const { spec } = manifests.find(({ kind }) => kind === 'ServiceMonitor') as unknown as {
      spec: { jobLabel?: string }
    }
    const jobs = manifests
      .filter(({ kind, metadata }) => kind === 'Service' && metadata.labels?.['model-gateway/metrics'])
      .map(({ metadata }) => metadata.labels?.[spec.jobLabel ?? ''] ?? metadata.name)
    expect(jobs).toHaveLength(4)
    const wanted = (await readRules()).flatMap(({ expr }) => /job=~"([^"]*)"/.exec(expr)?.[1] ?? [])
    expect(new Set(wanted)).toEqual(new Set(['.*gateway.*']))
    for (const job of jobs) expect(job).toMatch(/gateway/)
  },
)

test.each(['true', 'false'])('where another scales, the chart sets no number of pods (enabled: %s)', (enabled) => {
  const text = render('minimal', '--set', `edge.autoscaling.external=true,edge.autoscaling.enabled=${enabled}`)
  const edge = readManifests(text).filter(({ metadata }) => metadata.name === 'gateway-model-gateway-edge')
  expect(edge.map(({ kind }) => kind)).not.toContain('HorizontalPodAutoscaler')
  expect(edge.find(({ kind }) => kind === 'Deployment')).not.toHaveProperty('spec.replicas')
  expect(text).toContain('{ name: EDGE_REPLICAS_MAX, value: "11" }')
})

describe('promises to an operator', () => {
  const manifests = readManifests(rendered) as (Manifest & { spec: Record<string, unknown> })[]
  const named = (kind: string, name: string) =>
    manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)!

  test('no secret is in the chart: every password is a reference', () => {
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([])
    const variables = rendered.matchAll(/name: (\w*(?:PASSWORD|SECRET|DATABASE_URL|REDIS_URL)\w*)(.*\n.*)/g)
    const values = [...variables].filter(([, , rest]) => !rest!.includes('secretKeyRef')).map(([, name]) => name)
    expect(values).toEqual([])
  })

  test('edges are configured for the most that ever run: the autoscaler’s, and those of a rollout', () => {
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
    ['metering', ['53', 'client', '6379', '5432', '443', '465', '4318']],
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

describe('promises to a hardened cluster', () => {
  const text = render('hardened')
  const manifests = readManifests(text) as (Manifest & { spec: Record<string, never> })[]
  const named = (kind: string, suffix: string) =>
    manifests.find(({ kind: own, metadata }) => own === kind && metadata.name === `gateway-model-gateway${suffix}`)!
  const container = (service: string) =>
    (
      named('Deployment', `-${service}`) as unknown as {
        spec: { template: { spec: { containers: [{ image: string; env: object[]; volumeMounts: object[] }] } } }
      }
    ).spec.template.spec.containers[0]

  test('no pod requests a user or group by number', () => {
    expect(text).not.toMatch(/runAsUser|runAsGroup|fsGroup/)
  })

  test('every way to NATS is encrypted, between its servers too', () => {
    expect(text).not.toContain('nats://')
    expect(text).toContain(
      'tls://route:$(NATS_ROUTE_PASSWORD)@gateway-model-gateway-nats-0.gateway-model-gateway-nats-peers:6222',
    )
    expect(text.match(/tls { cert_file/g)).toHaveLength(2)
  })

  test.each(['edge', 'router', 'keys', 'metering', 'ctl'])('%s trusts the private authority', (service) => {
    expect(container(service).env).toContainEqual({
      name: 'NODE_EXTRA_CA_CERTS',
      value: '/etc/trusted-authorities/authorities.pem',
    })
    expect(container(service).volumeMounts).toContainEqual({
      name: 'authorities',
      mountPath: '/etc/trusted-authorities',
      readOnly: true,
    })
  })

  test("a digest goes before a tag, and a service's own tag before that of all", () => {
    expect(container('edge').image).toMatch(/\/edge@sha256:9f86d081/)
    expect(container('router').image).toMatch(/\/router:0\.1\.1$/)
    expect(container('keys').image).toMatch(/\/keys:0\.1\.0$/)
  })

  test("NATS servers restart when their own settings change, not their users' alone", () => {
    const checksum = (rendered: string) => /checksum\/config: (\w+)/.exec(rendered)![1]
    expect(checksum(render('hardened', '--set', 'nats.syncInterval=always'))).not.toBe(checksum(text))
  })

  test("a load balancer that keeps its clients' addresses is not shut out", () => {
    const { ingress } = named('NetworkPolicy', '-edge').spec as unknown as { ingress: object[] }
    expect(ingress).toContainEqual({ ports: [{ port: 'http', protocol: 'TCP' }] })
  })

  test('a router may go to the ports of its backends, and of vendors', () => {
    const { egress } = named('NetworkPolicy', '-router').spec as unknown as { egress: { ports: { port: unknown }[] }[] }
    expect(egress.at(-1)!.ports.map(({ port }) => port)).toEqual([443, 8443])
  })
})

test.each([
  ['edge', 'signIn.issuer=http://id.example:8082/realms/a', 8082],
  ['edge', 'signIn.issuer=https://id.example/realms/a', 443],
  [
    'edge',
    'signIn.issuer=http://id.example,networkPolicy.issuer.ports[0].port=8443,networkPolicy.issuer.ports[0].protocol=TCP',
    8443,
  ],
  ['keys', 'tracing.endpoint=http://collector.monitoring.svc:4319', 4319],
  ['metering', 'tracing.endpoint=https://collector.example/v1', 443],
  ['router', 'nats.enabled=false,nats.address=nats.example:4223', 4223],
])('the policy of %s follows %s to port %d', (service, settings, port) => {
  expect(openPorts(service, render('minimal', '--set', settings))).toContain(port)
})

test.each([
  ['https://a.example/v1', 443],
  ['http://a.example/v1', 80],
  ['http://a.svc:8000/v1', 8000],
  ['http://a.svc:8000', 8000],
  ['http://[fd00::1]:9000/v1', 9000],
  ['http://[fd00::1]/v1', 80],
  ['https://a.example/deployments/x:9/v1', 443],
])('the policy opens the port of %s: %d', (url, port) => {
  expect(openPorts('router', render('minimal', '--set-string', `config.backends[0].url=${url}`))).toContain(port)
})

test('metering reaches no webhook and no mail server unless the values open their ports', () => {
  expect(openPorts('metering', render('minimal'))).toEqual([53, 53, 'client', 6379, 5432])
  const settings = 'networkPolicy.flowsOut.ports[0].port=587,networkPolicy.flowsOut.ports[0].protocol=TCP'
  expect(openPorts('metering', render('minimal', '--set', settings))).toContain(587)
  expect(openPorts('keys', render('minimal', '--set', settings))).not.toContain(587)
})

/** To which its policy lets the service go. */
function openPorts(service: string, text: string): (number | string)[] {
  const { spec } = readManifests(text).find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith(`-${service}`),
  ) as unknown as { spec: { egress: { ports: { port: number | string }[] }[] } }
  return spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port))
}
