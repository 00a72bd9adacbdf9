/**
 * The proof of the chart reports the fields that a server changed: shown failing.
 */

import { expect, test } from 'vitest'
import { differences } from './differences.ts'

const sent = { spec: { ports: [{ name: 'http', port: 80 }], type: 'ClusterIP', note: null } }

test('a field that the server adds is its own', () => {
  const live = {
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }], type: 'ClusterIP', clusterIP: '10.96.0.9' },
  }
  expect(differences(sent, live, 'Service gateway')).toEqual([])
})

test.each([
  [
    'a value that became another',
    { spec: { ...sent.spec, type: 'NodePort' } },
    '/spec/type: "ClusterIP" became "NodePort"',
  ],
  ['a field that was dropped', { spec: { ports: sent.spec.ports } }, '/spec/type: "ClusterIP" became undefined'],
  [
    'an entry that was dropped',
    { spec: { ...sent.spec, ports: [] } },
    '/spec/ports/0: {"name":"http","port":80} became undefined',
  ],
  ['an object that is not there', undefined, ': {"spec"'],
])('%s', (_, live, complaint) => {
  expect(differences(sent, live, 'Service gateway').join('\n')).toContain(`Service gateway${complaint}`)
})
