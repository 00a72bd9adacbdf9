/**
 * Pods beside the gateway: a client, a monitor and strangers. Each listens on the ports of the gateway's real targets.
 */

import { type Cluster, imageOf } from './cluster.ts'
import { CLIENTS_NAMESPACE, NAMESPACE } from './stage.ts'

/** The chart lets `monitoring` read metrics. */
const NAMESPACES = [CLIENTS_NAMESPACE, 'monitoring', 'strangers']
const NAME = 'outsider'
/** Those of NATS, PostgreSQL, Redis, the identity provider and backends. */
const PORTS = [4222, 5432, 6379, 8082, 9100]
const LISTEN = `const { createServer } = require('node:net')
const listen = (port) => createServer((socket) => socket.on('error', () => {}).end()).listen(port, '0.0.0.0')
for (const port of ${JSON.stringify(PORTS)}) listen(port)`

export async function openOutsiders({ tools, images }: Cluster): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  opening.defer(async () => {
    await tools.kubectl('delete', 'namespace', ...NAMESPACES)
    await tools.kubectl('delete', 'pod', NAME, '--namespace', NAMESPACE)
  })
  await tools.apply(NAMESPACES.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })))
  const all = [...NAMESPACES, NAMESPACE]
  await tools.apply(all.map((namespace) => outsider(namespace, imageOf(images, 'development'))))
  for (const namespace of all) {
    await tools.kubectl('wait', '--for=condition=Ready', `pod/${NAME}`, '--namespace', namespace, '--timeout=60s')
  }
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function outsider(namespace: string, image: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: NAME, namespace, labels: { app: NAME } },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: NAME,
          image,
          imagePullPolicy: 'Never',
          args: ['--eval', LISTEN],
          ports: PORTS.map((containerPort) => ({ containerPort })),
          readinessProbe: { tcpSocket: { port: PORTS[0] }, periodSeconds: 1 },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  }
}
